"""A frame's load, and the choices for its nodes before any of them has run (GATI §5.1). Pure.

Every node gets its share of the time until the deadline, and takes the best variant that fits it. ``replanning.py``
decides anew before every node, when it is known what the nodes before have taken.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from pipelines.planning.budgets import TimeRange, fill
from pipelines.planning.options import Table

EPSILON_S = 1e-9
"""Budgets are sums and quotients: what exceeds one by less fits."""
NO_TIME = TimeRange(0.0, 0.0)


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
