"""A frame's load, and the choices for its nodes before any of them has run (GATI §5.1). Pure.

Every node gets its share of the time until the deadline, and takes the best variant that fits it. ``replanning.py``
decides anew before every node, when it is known what the nodes before have taken.

Nodes that run one after the other share the time of a frame in proportion to the longest time of any option of each:
their partial latency budgets (GATI §5.2.1). One thing is added to the paper: a node whose share is too short for its
fastest option gets as much as that takes, and the others share the rest. So there is a plan within the time whenever
the fastest options are one, and more time never means less for any node.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from operator import ge
from typing import NamedTuple

from pipelines.planning.options import Table, TimeRange

EPSILON_S = 1e-9
"""Budgets are sums and quotients: what exceeds one by less fits."""
NO_TIME = TimeRange(0.0, 0.0)


def fill(weights: Sequence[float], least: Sequence[float], total: float) -> list[float]:
    """Share ``total`` in proportion to the weights, but nobody gets less than their least.

    Where even the least is too much together, all get the same share of it.

    >>> fill([1, 1], [0, 0], 80)
    [40.0, 40.0]
    >>> fill([1, 1], [10, 60], 80)
    [20.0, 60]
    """
    needed = sum(least)
    if total <= needed:
        return [total * each / needed if needed else 0.0 for each in least]
    together = sum(weights)
    if not together:
        weights, together = [1.0] * len(weights), float(len(weights))
    rate = total / together
    found = [rate * weight for weight in weights]
    if all(map(ge, found, least)):
        return found
    return _served(weights, least, total)


def _served(weights: Sequence[float], least: Sequence[float], total: float) -> list[float]:
    """The same where some need more than their share: they get their least, those with the most need first."""
    left, weight, served = total, sum(weights), set[int]()
    needs = [each / of if of else inf if each else 0.0 for each, of in zip(least, weights, strict=True)]
    for place in sorted(range(len(least)), key=lambda place: -needs[place]):
        if needs[place] * weight <= left:
            break
        served.add(place)
        left, weight = left - least[place], weight - weights[place]
    # What is left goes to those with a weight; where all of them are served, to all alike.
    if weight <= 0:
        return [each + left / len(least) for each in least]
    rate = left / weight
    return [least[place] if place in served else rate * weights[place] for place in range(len(least))]


@dataclass(frozen=True, slots=True)
class Load:
    """The objects of a frame, and the other work of the device."""

    objects: Mapping[str, int] = field(default_factory=dict)
    """Objects by node; nodes that are not named get one."""
    slowdown: Mapping[str, float] = field(default_factory=dict)
    """How much longer models take at a node than was measured; those of nodes that are not named take as long."""
    extra_s: Mapping[str, float] = field(default_factory=dict)
    """Seconds of nodes besides: the wait for the device, and work around a model."""

    def times(self, node: str, table: Table) -> TimeRange:
        """Seconds of the fastest and of the slowest variant of a node under this load."""
        objects = self.objects.get(node, 1)
        if not objects:
            return NO_TIME
        least_s, longest_s = table.times(objects)
        extra_s, slowdown = self.extra_s.get(node, 0.0), self.slowdown.get(node, 1.0)
        return TimeRange(extra_s + slowdown * least_s, extra_s + slowdown * longest_s)

    def measured_s(self, node: str, budget_s: float) -> float:
        """Seconds that a model of a node may have been measured to take, so that it fits a budget."""
        return (budget_s - self.extra_s.get(node, 0.0)) / self.slowdown.get(node, 1.0) + EPSILON_S


class Choice(NamedTuple):
    variant: str
    budget_s: float
    takes_s: float
    """Seconds that it seldom exceeds."""

    @property
    def fits(self) -> bool:
        """Whether it is over within the budget; if not, no variant is."""
        return self.takes_s <= self.budget_s + EPSILON_S


def first_plan(groups: Sequence[Mapping[str, Table]], slo_s: float) -> dict[str, Choice]:
    """The first choices for nodes, for one object each, in measured times; those of a group run at the same time."""
    known = [group for group in groups if group]
    if not known:
        return {}
    times = [[table.times(1) for table in group.values()] for group in known]
    longest = [max(each.longest_s for each in group) for group in times]
    budgets_s = fill(longest, [max(each.least_s for each in group) for group in times], slo_s)
    shares = zip(known, budgets_s, strict=True)
    return {node: _choice(table, budget_s) for group, budget_s in shares for node, table in group.items()}


def _choice(table: Table, budget_s: float) -> Choice:
    options = [Choice(each.variant, budget_s, each.takes_s(1)) for each in table.options]
    return next((each for each in options if each.fits), min(options, key=lambda each: each.takes_s))
