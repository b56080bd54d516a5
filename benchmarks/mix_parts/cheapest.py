"""The cheapest mix of variants that carries a load within an SLO (Romero et al., 2021, §2.2 and §4.2.1).

With nothing running yet (N = 0) and no weight on loading (λ = 0), the paper's integer program reads: choose how many
instances δ of each variant to run, so that the cost Σ C·δ is least, the saturation throughputs cover the load,
Σ Q·δ ≥ L × slack, and only variants run whose inference latency T is within the SLO S. HiGHS solves it exactly; where
it does not finish within a time limit, its best mix so far or that of a heuristic is taken. No part of the product
starts or ends instances.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds, LinearConstraint, milp

Vector = NDArray[np.float64]
FoundBy = Literal["solver", "solver, stopped early", "heuristic"]

LIMIT_S = 1.0
"""The time limit of each of the solver's two runs."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """The throughput and the cost of one running instance of a variant."""

    name: str
    latency_s: float
    """T: time of one inference."""
    items_per_s: float
    """Q: saturation throughput, above 0."""
    cost_per_s: float
    """C: in any unit, the same for all."""


@dataclass(frozen=True, slots=True)
class Mix:
    """The number of instances of every candidate, in the order given."""

    counts: tuple[int, ...]
    cost_per_s: float
    found_by: FoundBy = "solver"
    """Only a mix that the solver found in time is known to be the cheapest."""


def cheapest_mix(
    candidates: Sequence[Candidate], load_per_s: float, slo_s: float, slack: float = 1.0, limit_s: float = LIMIT_S
) -> Mix | None:
    """The cheapest mix, of equally cheap ones one with the fewest instances; None where no variant meets the SLO.

    ``slack`` ≥ 1 is headroom for sudden load: the mix carries ``load_per_s × slack``.
    """
    load = load_per_s * slack
    costs = np.array([each.cost_per_s for each in candidates])
    rates = np.array([each.items_per_s for each in candidates])
    most = np.array([_most(each, load) if each.latency_s <= slo_s else 0 for each in candidates], float)
    if most @ rates < load:
        return None
    enough = LinearConstraint(rates, lb=load)
    least, in_time = _solve(costs, [enough], most, limit_s)
    if least is None:
        return _mix(_heuristic(costs, rates, most, load), costs, "heuristic")
    # Counting instances is a second question, so that it cannot trade against cost.
    as_cheap = LinearConstraint(costs, ub=float(costs @ least) * (1 + 1e-9))
    fewest, counted_in_time = _solve(np.ones(len(costs)), [enough, as_cheap], most, limit_s)
    counts = least if fewest is None else fewest
    return _mix(counts, costs, "solver" if in_time and counted_in_time else "solver, stopped early")


def _mix(counts: Vector, costs: Vector, found_by: FoundBy) -> Mix:
    return Mix(tuple(int(count) for count in counts), float(costs @ counts), found_by)


def _most(candidate: Candidate, load: float) -> float:
    """More instances than carry the whole load alone are never needed; this bounds the search."""
    return float(np.ceil(load / candidate.items_per_s))


def _solve(
    objective: Vector, constraints: Sequence[LinearConstraint], most: Vector, limit_s: float
) -> tuple[Vector | None, bool]:
    """The best counts that were found, and whether the solver finished; None where it found none."""
    found = milp(
        objective,
        constraints=constraints,
        bounds=Bounds(0, most),
        integrality=np.ones(len(objective)),
        options={"mip_rel_gap": 0.0, "time_limit": limit_s},
    )
    return None if found.x is None else np.round(found.x), bool(found.success)


def _heuristic(costs: Vector, rates: Vector, most: Vector, load: float) -> Vector:
    """Full instances of the variant that is cheapest per item, and the cheapest single kind for the rest."""
    usable = np.flatnonzero(most)
    counts = np.zeros(len(costs))
    if not len(usable):
        return counts
    first = usable[(costs[usable] / rates[usable]).argmin()]
    counts[first] = np.floor(load / rates[first])
    rest = max(0.0, load - counts[first] * rates[first])
    needed = np.ceil(rest / rates[usable])
    last = (costs[usable] * needed).argmin()
    counts[usable[last]] += needed[last]
    return counts
