"""The integer programme of Romero et al., 2021, §4.2.1, as data: what is to be covered, from what, at what cost.

For every variant v with N running instances an integer δ is sought that minimises Σ C(δ + λ·T_load·max(δ, 0)), where
instances serve the load (1), new ones meet the SLO and the accuracy (2), resources suffice (3), and none
is unloaded that does not run (4). Here one programme holds all applications, since they share the machines; instances
that run and miss the SLO, after it was changed, count as serving nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil
from typing import Literal

from benchmarks.autoscale_parts.state import Key, ServingState
from serving.autoscale.machines import AutoscaleTerms

Pool = tuple[str, str]
"""A kind of machine, and one of its resources: all machines of a kind together."""
By = Literal["programme", "incumbent", "greedy"]
"""The exact solution, the best one found within the time limit, or the heuristic's."""
ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Candidate:
    """A variant with what it costs and takes."""

    key: Key
    items_per_s: float
    """One instance serves so many in time; 0 where it does not meet the requirements, and so may only be unloaded."""
    cost_per_s: float
    load_s: float
    needs: Mapping[Pool, float]
    running: int

    @property
    def application(self) -> str:
        return self.key[0]


@dataclass(frozen=True, slots=True)
class Programme:
    """The data of the exact solver and of the heuristic."""

    candidates: Sequence[Candidate]
    asked: Mapping[str, float]
    """Items per second by application."""
    weight: Mapping[str, float]
    """How much a share of it counts that is not served."""
    pools: Mapping[Pool, float]
    loading_per_s: float
    """λ."""

    def objective(self, counts: Mapping[Key, int]) -> float:
        """The cost of a change to so many instances, by the second; negative where it saves."""
        return sum(self.price(each, counts.get(each.key, 0) - each.running) for each in self.candidates)

    def price(self, candidate: Candidate, more: int) -> float:
        """Cost(δ) of §4.2.1."""
        return candidate.cost_per_s * (more + self.loading_per_s * candidate.load_s * max(more, 0))

    def short(self, counts: Mapping[Key, int]) -> dict[str, float]:
        """Items per second by application that so many instances do not serve; those that are served are left out."""
        served = dict.fromkeys(self.asked, 0.0)
        for each in self.candidates:
            served[each.application] += each.items_per_s * counts.get(each.key, 0)
        gaps = {name: asked - served[name] for name, asked in self.asked.items()}
        return {name: gap for name, gap in gaps.items() if gap > ROUNDING * self.asked[name]}

    def unserved(self, counts: Mapping[Key, int]) -> float:
        """The weighted sum of the shares of loads that are not served."""
        return sum(self.weight[name] * gap / self.asked[name] for name, gap in self.short(counts).items())


@dataclass(frozen=True, slots=True)
class Solution:
    """Instances by variant."""

    counts: Mapping[Key, int]
    by: By
    short: Mapping[str, float] = field(default_factory=dict)


def programme(
    seen: ServingState, loads: Mapping[str, float], machines: Mapping[str, int], terms: AutoscaleTerms
) -> Programme:
    """``loads``: items per second, slack included; ``machines``: how many of each kind there are, or could be."""
    application = {each.name: each for each in seen.applications}
    candidates = []
    for key, variant in seen.usable.items():
        kind = seen.kind[variant.kind]
        needs = {(kind.name, name): need for name, need in variant.needs.items() if need}
        rate = seen.rate(application[variant.application], variant)
        if rate or seen.count[key]:
            candidates.append(Candidate(key, rate, variant.cost(kind), variant.load_s, needs, seen.count[key]))
    pools = {
        (kind.name, name): amount * machines.get(kind.name, 0)
        for kind in seen.kinds
        for name, amount in kind.resources.items()
    }
    weight = {each.name: 2.0 ** max(min(each.priority, 20), -20) for each in seen.applications}
    return Programme(candidates, loads, weight, pools, 1 / terms.horizon_s)


def enough(asked: float, candidate: Candidate) -> int:
    """Instances that serve all of it alone."""
    return ceil(asked / candidate.items_per_s - ROUNDING) if candidate.items_per_s else 0
