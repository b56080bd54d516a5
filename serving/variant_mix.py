"""The cheapest mix of variants that carries a load within an SLO, exactly (Romero et al., 2021, §2.2 and §4.2.1).

With nothing running yet (N = 0) and no weight on loading (λ = 0), the paper's integer program reads: choose how many
instances δ of each variant to run, so that the cost Σ C·δ is least, the saturation throughputs cover the load,
Σ Q·δ ≥ L × slack, and only variants run whose inference latency T is within the SLO S. HiGHS solves it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds, LinearConstraint, milp

Vector = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Candidate:
    """What one running instance of a variant gives and takes."""

    name: str
    latency_s: float
    """T: of one inference."""
    items_per_s: float
    """Q: saturation throughput."""
    cost_per_s: float
    """C: in whatever unit, the same for all."""


@dataclass(frozen=True, slots=True)
class Mix:
    """Instances of every candidate, in the order given; those not used have 0."""

    counts: tuple[int, ...]
    cost_per_s: float


def cheapest_mix(candidates: Sequence[Candidate], load_per_s: float, slo_s: float, slack: float = 1.0) -> Mix | None:
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
    least = _solve(costs, [enough], most)
    # Counting instances is a second question, so that it cannot trade against cost.
    as_cheap = LinearConstraint(costs, ub=float(costs @ least) * (1 + 1e-9))
    counts = _solve(np.ones(len(costs)), [enough, as_cheap], most)
    return Mix(tuple(int(count) for count in counts), float(costs @ counts))


def _most(candidate: Candidate, load: float) -> float:
    """More instances than carry the whole load alone are never needed; this bounds the search."""
    return float(np.ceil(load / candidate.items_per_s))


def _solve(objective: Vector, constraints: Sequence[LinearConstraint], most: Vector) -> Vector:
    found = milp(
        objective,
        constraints=constraints,
        bounds=Bounds(0, most),
        integrality=np.ones(len(objective)),
        options={"mip_rel_gap": 0.0},
    )
    assert found.success, found.message
    counts: Vector = np.round(found.x)
    return counts
