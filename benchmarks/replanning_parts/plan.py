"""The plan of one frame, and its revision before every node, as in the paper (GATI §5.1–5.2, Pseudocode 1).

Every path from the input to an output shares the time among its nodes, equally or in proportion to the longest time of
any variant of a node, and a node gets the least that any of its paths gives it. ``plan`` picks for each node the best
variant that fits its budget. ``replan`` takes what one node has taken: the time that it saved or lost is shared anew
among the nodes after it, and they are picked for again. (Line 11 of the pseudocode has the sign the other way round;
the text has it right.) All nodes have one object, and take what was measured.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import Literal, NamedTuple

from pipelines.planning.options import Table
from pipelines.planning.plan import fill

Split = Literal["equal", "proportional"]
Graph = Mapping[str, Sequence[str]]
"""By node those that take its output; in an order in which every node comes after those that it takes from."""
Path = tuple[str, ...]
EPSILON_S = 1e-9
"""Budgets are sums and quotients: what exceeds one by less fits."""


def paths(graph: Graph) -> list[Path]:
    """All ways from a node without input to a node without output."""
    taken = {node for takers in graph.values() for node in takers}
    return [path for node in graph if node not in taken for path in _onwards(graph, node)]


def _onwards(graph: Graph, node: str) -> list[Path]:
    takers = graph.get(node, ())
    return [(node, *rest) for taker in takers for rest in _onwards(graph, taker)] or [(node,)]


class Choice(NamedTuple):
    """What one node is to run."""

    variant: str
    budget_s: float
    takes_s: float
    fits: bool
    """Whether it is over within the budget; if not, no variant is, and this is the fastest."""


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
    deadline_s: float
    began_s: float
    ended_s: Mapping[str, float]
    """When nodes ended."""
    choices: Mapping[str, Choice]

    @property
    def fits(self) -> bool:
        """Whether every node has a variant that fits."""
        return all(choice.fits for choice in self.choices.values())


def _parted(path: Path, ended: Collection[str]) -> Way:
    return Way(tuple(node for node in path if node in ended), tuple(node for node in path if node not in ended))


def plan(terms: Terms, deadline_s: float, now_s: float = 0.0) -> FramePlan:
    """The plan of a frame that begins now; times are seconds on one clock."""
    return _ahead(terms, deadline_s, now_s, {}, {})


def replan(before: FramePlan, ended_s: Mapping[str, float]) -> FramePlan:
    """The plan once nodes have ended."""
    return _ahead(before.terms, before.deadline_s, before.began_s, {**before.ended_s, **ended_s}, before.choices)


def _ahead(
    terms: Terms, deadline_s: float, began_s: float, ended_s: Mapping[str, float], choices: Mapping[str, Choice]
) -> FramePlan:
    """Share what is left of the time among the nodes that have not ended, and choose for each."""
    found = dict(choices)
    for node, budget_s in budgets(terms, deadline_s, began_s, ended_s).items():
        found[node] = choose(terms.tables[node], budget_s)
    return FramePlan(terms, deadline_s, began_s, ended_s, found)


def budgets(terms: Terms, deadline_s: float, began_s: float, ended_s: Mapping[str, float]) -> dict[str, float]:
    """Seconds for every node that has not ended: the least that any of its paths gives it."""
    found: dict[str, float] = {}
    for ended, left in terms.rest(ended_s):
        begins_s = max([ended_s[node] for node in ended]) if ended else began_s
        for node, budget_s in zip(left, shares(terms, left, deadline_s - begins_s), strict=True):
            if budget_s < found.get(node, inf):
                found[node] = budget_s
    return found


def shares(terms: Terms, path: Path, time_s: float) -> list[float]:
    """Seconds for each node of one path; together ``time_s``, or nothing where that has passed."""
    times = [terms.tables[node].times(1) for node in path]
    weights = [1.0 if terms.split == "equal" else each.longest_s for each in times]
    return fill(weights, [each.least_s for each in times], max(time_s, 0.0))


def choose(table: Table, budget_s: float) -> Choice:
    """The best variant of a node that fits a budget, else the fastest."""
    for each in table.options:
        if each.takes_s(1) <= budget_s + EPSILON_S:
            return Choice(each.variant, budget_s, each.takes_s(1), True)
    fastest = min(table.options, key=lambda each: each.takes_s(1))
    return Choice(fastest.variant, budget_s, fastest.takes_s(1), False)
