"""Selection without naming a model: from requirements to the variant that meets them (Romero et al., 2021, §4.1).

The least loaded Active variant that meets the requirements is taken; else the Inactive one that is loaded and done
soonest; else the one that comes closest, with the reason. Overloaded and Interfered variants are taken only where there
is no other. States and loads are the caller's to know.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import get_args

import numpy as np
from numpy.typing import NDArray

from serving.errors import BadInput
from serving.scheduling.health import State

Vector = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Requirements:
    """A user's requirements on a network; each has a default that everything meets."""

    latency_s: float = inf
    """At most."""
    accuracy: float = 0.0
    """At least, 0 to 1."""
    cost: float = inf
    """At most, per item, in the unit of the variants' costs."""

    def __post_init__(self) -> None:
        if not (self.latency_s > 0 and self.cost > 0 and 0 <= self.accuracy <= 1):
            raise BadInput(f"requirements: latency and cost must be above 0 and accuracy from 0 to 1, not {self}")

    def at_most(self) -> Vector:
        """Upper bounds on a variant's rows: latency, accuracy with the other sign, and cost; 3 × 1."""
        return np.array([[self.latency_s], [-self.accuracy], [self.cost]])


@dataclass(frozen=True, slots=True)
class VariantRecord:
    """A variant as selection sees it: what its profile says, and how it is now."""

    id: str
    latency_s: float
    """Latency of a batch as large as the user's."""
    load_s: float
    """Time to load it."""
    accuracy: float
    cost: float
    """Cost of one item."""
    state: State = "inactive"
    load: float = 0.0
    """Share of its peak throughput that it serves."""


class VariantTable:
    """The variants to choose from, a column each."""

    def __init__(self, records: Sequence[VariantRecord]) -> None:
        """Raises BadInput where there is none."""
        if not records:
            raise BadInput("there is no variant to choose from: register a model and profile it")
        self.ids = [each.id for each in records]
        self.rows = np.array([[each.latency_s, -each.accuracy, each.cost] for each in records]).T.copy()
        self.soonest_s = np.array([each.load_s + each.latency_s for each in records])
        self.state = [each.state for each in records]
        self.within = {state: np.array([each.state == state for each in records]) for state in get_args(State)}
        self.load = np.array([each.load for each in records])


def select(requirements: Requirements, variants: VariantTable) -> VariantChoice:
    """The variant for these requirements; the first in the table where several are equally good."""
    meets = np.asarray((variants.rows <= requirements.at_most()).all(axis=0))
    for state, order, reason in (
        ("active", variants.load, "the least loaded of the active variants that meet the requirements"),
        ("inactive", variants.soonest_s, "no active variant meets the requirements; this one is ready soonest"),
    ):
        rows = np.flatnonzero(meets & variants.within[state])
        if len(rows):
            return VariantChoice(variants.ids[rows[order[rows].argmin()]], True, reason)
    return closest(requirements, variants, meets)


SHOWN = (("latency", 1000, " ms"), ("accuracy", -1, ""), ("cost", 1, ""))
"""The rows of a table as users read them: name, factor, unit."""
SMALLEST = 1e-300
"""Stands for a requirement of 0, which everything meets."""


@dataclass(frozen=True, slots=True)
class VariantChoice:
    """A variant, and whether it meets the requirements."""

    variant: str
    meets: bool
    reason: str = field(repr=False, compare=False)
    """Why it was taken, in one line."""


def closest(requirements: Requirements, variants: VariantTable, meets: NDArray[np.bool_]) -> VariantChoice:
    """Choose the least shortfall among the variants that may have work, or among all where none may."""
    free = np.flatnonzero(variants.within["active"] | variants.within["inactive"])
    among = free if len(free) else np.arange(len(variants.ids))
    chosen = int(among[shortfall(requirements, variants)[among].argmin()])
    name, state = variants.ids[chosen], variants.state[chosen]
    if meets[chosen]:
        reason = f"all are overloaded or interfered; this one meets the requirements and is {state}"
        return VariantChoice(name, True, reason)
    why = "no variant meets all requirements"
    if len(busy := np.flatnonzero(meets)):
        why = f"{variants.ids[busy[0]]} would meet all requirements but is {variants.state[busy[0]]}"
    lacks = "; ".join(_lacks(requirements, variants, among, chosen))
    return VariantChoice(name, False, f"{why}; of the closest the {lacks}")


def shortfall(requirements: Requirements, variants: VariantTable) -> Vector:
    """The sum of relative distances of each variant from the requirements that it does not meet."""
    asked = requirements.at_most()
    distance: Vector = np.maximum(variants.rows - asked, 0) / np.maximum(np.abs(asked), SMALLEST)
    total: Vector = distance.sum(axis=0)
    return total


def _lacks(requirements: Requirements, variants: VariantTable, among: NDArray[np.intp], chosen: int) -> Iterator[str]:
    """For each requirement that the variant misses: by how much, and the best value there is."""
    asked = requirements.at_most().ravel().tolist()
    has = variants.rows[:, chosen].tolist()
    best = variants.rows.take(among, axis=1).min(axis=1).tolist()
    for row, (what, factor, unit) in enumerate(SHOWN):
        if has[row] > asked[row]:
            mine, wanted, there = (f"{factor * each[row]:.4g}{unit}" for each in (has, asked, best))
            gap, side = f"{abs(factor) * (has[row] - asked[row]):.3g}{unit}", "above" if factor > 0 else "below"
            yield f"{what} of {mine} is {gap} {side} {wanted} (best: {there})"
