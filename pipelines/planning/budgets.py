"""Partial latency budgets: how much of a frame's time each node may take (GATI §5.2.1). Pure.

Every path from the input to an output shares the time among its nodes, equally or in proportion to the longest time of
any option of a node, and a node gets the least that any of its paths gives it. One thing is added to the paper: a node
whose share is too short for its fastest option gets as much as that takes, and the others share the rest. So there is
a plan within the time whenever the fastest options are one, and more time never means less for any node.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf
from operator import ge
from typing import Literal, NamedTuple

Split = Literal["equal", "proportional"]
Graph = Mapping[str, Sequence[str]]
"""By node those that take its output; in an order in which every node comes after those that it takes from."""
Path = tuple[str, ...]


class Times(NamedTuple):
    """Seconds of a node's options."""

    least_s: float
    """What the fastest variant takes."""
    longest_s: float
    """What the slowest variant takes."""


def paths(graph: Graph) -> list[Path]:
    """All ways from a node without input to a node without output."""
    taken = {node for takers in graph.values() for node in takers}
    return [path for node in graph if node not in taken for path in _onwards(graph, node)]


def _onwards(graph: Graph, node: str) -> list[Path]:
    takers = graph.get(node, ())
    return [(node, *rest) for taker in takers for rest in _onwards(graph, taker)] or [(node,)]


def shares(path: Path, time_s: float, times: Mapping[str, Times], split: Split) -> list[float]:
    """Seconds for each node of one path; together ``time_s``, or nothing where that has passed."""
    weights = [1.0 if split == "equal" else times[node].longest_s for node in path]
    return fill(weights, [times[node].least_s for node in path], max(time_s, 0.0))


def fill(weights: Sequence[float], least: Sequence[float], total: float) -> list[float]:
    """Share ``total`` in proportion to the weights, but nobody gets less than their least.

    Where even the least is too much together, all get the same share of it.

    >>> fill([1, 1], [0, 0], 80)
    [40.0, 40.0]
    >>> fill([1, 1], [10, 60], 80)
    [20.0, 60.0]
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
