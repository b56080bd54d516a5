"""Partial latency budgets: how much of a frame's time each node may take (GATI §5.2.1). Pure.

Nodes that run one after the other share the time of a frame in proportion to the longest time of any option of each.
One thing is added to the paper: a node whose share is too short for its fastest option gets as much as that takes, and
the others share the rest. So there is a plan within the time whenever the fastest options are one, and more time never
means less for any node.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from operator import ge
from typing import NamedTuple


class TimeRange(NamedTuple):
    """Seconds of a node's options."""

    least_s: float
    """The fastest variant takes so long."""
    longest_s: float
    """The slowest variant takes so long."""


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
