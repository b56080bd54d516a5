"""The integer programme of Romero et al., 2021, §4.2.1, for a fleet at rest: instances that serve all loads for least.

Where the machines do not serve all, as much as possible is served first, by weight, and then as cheaply as possible.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import coo_array, csr_array

TOLERANCE = 1e-6
"""More may be left than the least, as a weighted share: else rounding would make that impossible."""
ROUNDING = 1e-9
Vector = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Candidate:
    """An instance that there could be, and how much it serves."""

    load: int
    kind: int
    """Which of the loads, and of the kinds of machines."""
    items_per_s: float
    """Above 0."""


@dataclass(frozen=True, slots=True)
class Programme:
    """Loads, and instances that could serve them."""

    candidates: Sequence[Candidate]
    items_per_s: Sequence[float]
    """Each load."""
    weights: Sequence[float]
    """How much a share of it counts that is not served; above 0."""
    prices: Sequence[float]
    """One instance, by kind."""
    room: Sequence[int]
    """Instances by kind."""

    def cheapest(self, limit_s: float) -> list[int]:
        """How many of each candidate; the time limit holds for each of at most three solves.

        Where it ends them the best that was found is taken, at worst none of any.
        """
        found = self._solved(self._costs, 0.0, limit_s)
        if found is None:
            least = self._solved(self._left, np.inf, limit_s)
            if least is None:
                return [0] * len(self.candidates)
            found = self._solved(self._costs, float(self._left @ least) + TOLERANCE, limit_s)
            found = least if found is None else found
        return [round(each) for each in found[: len(self.candidates)].tolist()]

    @property
    def _costs(self) -> Vector:
        return np.array([*(self.prices[each.kind] for each in self.candidates), *[0.0] * len(self.weights)])

    @property
    def _left(self) -> Vector:
        return np.array([*[0.0] * len(self.candidates), *self.weights])

    def _solved(self, costs: Vector, left: float, limit_s: float) -> Vector | None:
        """Instances of each candidate, and of each load the share that is left, ``left`` of all by weight at most."""
        loads, size = np.array(self.items_per_s), len(self.candidates)
        rates = np.array([each.items_per_s for each in self.candidates])
        of = np.array([each.load for each in self.candidates], dtype=int)
        on = np.array([each.kind for each in self.candidates], dtype=int)
        whole = size + len(loads)
        serves = coo_array((rates, (of, np.arange(size))), shape=(len(loads), whole))
        gaps = coo_array((loads, (np.arange(len(loads)), np.arange(size, whole))), shape=(len(loads), whole))
        takes = coo_array((np.ones(size), (on, np.arange(size))), shape=(len(self.room), whole))
        rows = [
            LinearConstraint((serves + gaps).tocsr(), loads * (1 - ROUNDING), np.inf),
            LinearConstraint(takes.tocsr(), -np.inf, self.room),
            LinearConstraint(csr_array(self._left[None, :]), -np.inf, left),
        ]
        most = np.minimum(np.ceil(loads[of] / rates - ROUNDING), np.array(self.room, dtype=float)[on])
        upper = np.concatenate([most, np.full(len(loads), float(left > 0))])
        kinds, options = np.arange(whole) < size, {"time_limit": limit_s}
        found: Any = milp(costs, integrality=kinds, bounds=Bounds(0, upper), constraints=rows, options=options).x
        return None if found is None else np.asarray(found, dtype=float)
