"""The plan of one frame, and its revision before every node (GATI §5.1–5.2, Pseudocode 1). Pure.

``plan`` shares the time until the deadline among the nodes and picks for each the best variant that fits its budget.
``replan`` takes what one node has taken: the time that it saved or lost is shared anew among the nodes after it, and
they are picked for again. (Line 11 of the pseudocode has the sign the other way round; the text has it right.)
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from math import inf
from typing import NamedTuple

from operators.plan import WORDS
from operators.wire.schema import Fallback
from pipelines.planning.budgets import Path, Split, Times, shares
from pipelines.planning.options import Table

EPSILON_S = 1e-9
"""Budgets are sums and quotients: what exceeds one by less fits."""
NO_TIME = Times(0.0, 0.0)


@dataclass(frozen=True, slots=True)
class Load:
    """What a frame brings, and what the device has to do besides."""

    objects: Mapping[str, int] = field(default_factory=dict)
    """Objects by node; nodes that are not named get one."""
    slowdown: Mapping[str, float] = field(default_factory=dict)
    """How much longer models take at a node than was measured; those of nodes that are not named take as long."""
    extra_s: Mapping[str, float] = field(default_factory=dict)
    """What nodes take besides: the wait for the device, and what is done around a model."""

    def times(self, node: str, table: Table) -> Times:
        """Seconds of the fastest and of the slowest variant of a node under this load."""
        objects = self.objects.get(node, 1)
        if not objects:
            return NO_TIME
        least_s, longest_s = table.times(objects)
        extra_s, slowdown = self.extra_s.get(node, 0.0), self.slowdown.get(node, 1.0)
        return Times(extra_s + slowdown * least_s, extra_s + slowdown * longest_s)

    def measured_s(self, node: str, budget_s: float) -> float:
        """Seconds that a model of a node may have been measured to take, so that it fits a budget."""
        return (budget_s - self.extra_s.get(node, 0.0)) / self.slowdown.get(node, 1.0)


class Choice(NamedTuple):
    """What one node is to run."""

    variant: str
    budget_s: float
    takes_s: float
    """Seconds that it seldom exceeds under the load."""
    cause: Fallback | None = None
    """The policy that decided where nothing fits the budget; None where the variant fits."""

    @property
    def why(self) -> str:
        """The reason in words."""
        took, had = 1000 * self.takes_s, 1000 * self.budget_s
        if self.cause is None:
            return f"takes {took:.0f} of {had:.0f} ms"
        return f"nothing fits {had:.0f} ms ({self.variant} takes {took:.0f}): {WORDS[self.cause]}"


class Way(NamedTuple):
    """What is left of a path once some nodes have ended."""

    ended: Path
    left: Path


@dataclass(frozen=True, slots=True)
class Terms:
    """What holds for all frames of a stream until something is measured anew."""

    ways: tuple[Path, ...]
    """All paths through the nodes that a frame takes: parallel branches are several."""
    tables: Mapping[str, Table]
    """The options of every node."""
    split: Split = "proportional"
    fallbacks: Mapping[str, Fallback] = field(default_factory=dict)
    """By node; others have ``cheapest``."""
    _rests: dict[frozenset[str], tuple[Way, ...]] = field(default_factory=dict, compare=False, repr=False)

    def rest(self, ended: Iterable[str]) -> tuple[Way, ...]:
        """What is left of the paths once these nodes have ended; found once for each set of them."""
        key = frozenset(ended)
        known = self._rests.get(key)
        if known is None:
            ways = (_parted(path, key) for path in self.ways)
            known = self._rests[key] = tuple(dict.fromkeys(way for way in ways if way.left))
        return known


class FramePlan(NamedTuple):
    """The decisions for one frame, as far as it has come."""

    terms: Terms
    load: Load
    deadline_s: float
    began_s: float
    ended_s: Mapping[str, float]
    """When nodes ended."""
    choices: Mapping[str, Choice]

    @property
    def fits(self) -> bool:
        """Whether every node has a variant that fits."""
        return all(choice.cause is None for choice in self.choices.values())


def _parted(path: Path, ended: Collection[str]) -> Way:
    return Way(tuple(node for node in path if node in ended), tuple(node for node in path if node not in ended))


def plan(terms: Terms, deadline_s: float, load: Load, now_s: float) -> FramePlan:
    """The plan of a frame that begins now; times are seconds on one clock."""
    return _ahead(terms, load, deadline_s, now_s, {}, {})


def replan(before: FramePlan, ended_s: Mapping[str, float], objects: Mapping[str, int] | None = None) -> FramePlan:
    """The plan once nodes have ended; ``objects``: how many there are for other nodes, where that is known now."""
    load = before.load
    if objects:
        load = Load({**load.objects, **objects}, load.slowdown, load.extra_s)
    ended = {**before.ended_s, **ended_s}
    return _ahead(before.terms, load, before.deadline_s, before.began_s, ended, before.choices)


def _ahead(
    terms: Terms,
    load: Load,
    deadline_s: float,
    began_s: float,
    ended_s: Mapping[str, float],
    choices: Mapping[str, Choice],
) -> FramePlan:
    """Share what is left of the time among the nodes that have not ended, and choose for each."""
    found = dict(choices)
    for node, budget_s in budgets(terms, load, deadline_s, began_s, ended_s).items():
        found[node] = choose(terms, load, node, budget_s)
    return FramePlan(terms, load, deadline_s, began_s, ended_s, found)


def budgets(
    terms: Terms, load: Load, deadline_s: float, began_s: float, ended_s: Mapping[str, float]
) -> dict[str, float]:
    """Seconds for every node that has not ended: the least that any of its paths gives it."""
    found: dict[str, float] = {}
    times: dict[str, Times] = {}
    for ended, left in terms.rest(ended_s):
        for node in left:
            if node not in times:
                times[node] = load.times(node, terms.tables[node])
        begins_s = max([ended_s[node] for node in ended]) if ended else began_s
        for node, budget_s in zip(left, shares(left, deadline_s - begins_s, times, terms.split), strict=True):
            if budget_s < found.get(node, inf):
                found[node] = budget_s
    return found


def choose(terms: Terms, load: Load, node: str, budget_s: float) -> Choice:
    """The best variant of a node that fits a budget under a load, or what its policy says."""
    table, objects = terms.tables[node], load.objects.get(node, 1)
    if not objects:
        return Choice(table.options[0].variant, budget_s, 0.0)
    extra_s, slowdown, columns = load.extra_s.get(node, 0.0), load.slowdown.get(node, 1.0), table.seconds(objects)
    most_s = (budget_s - extra_s) / slowdown + EPSILON_S
    for place, seconds in enumerate(columns):
        if seconds <= most_s:
            return Choice(table.variants[place], budget_s, extra_s + slowdown * seconds)
    least_s = min(columns)
    variant, cause = table.variants[columns.index(least_s)], terms.fallbacks.get(node, "cheapest")
    return Choice(variant, budget_s, extra_s + slowdown * least_s, cause)
