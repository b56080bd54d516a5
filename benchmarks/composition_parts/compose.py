"""The best choice of caches, exactly (Balasubramanian et al., 2021 [GATI], equations 5 to 10). Pure.

The paper calls its program quadratic and relaxes it. But EH depends on the chosen cache before alone, so a choice is a
path from the input over caches to the output, and latency, wrong answers and memory are sums over its steps.

Such a path is found by labels: each says how far a path has come, and what it has added up. The label that promises the
least latency is followed first, until none promises less than the best choice so far has. A promise is the least that
the rest can take if wrong answers and memory are paid for in place of being limited. Whatever their prices, that is no
more than the rest takes within the limits; so many prices are tried, and the highest promise counts. A label is dropped
where another one at the same cache is no worse in any sum.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.composition_parts.problem import ROUNDING, Cache, Choice, CompositionProblem

MOST_LABELS = 200_000
"""After so many the best choice so far is taken; 228 caches make some thousands."""
PRICES = (0.0, *np.geomspace(0.001, 4, 16).tolist())
"""The price of all wrong answers that are allowed, and of all memory, as shares of the network's latency."""
INPUT = Cache(0, "input", 0.0, 1.0, 0.0)

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class _Steps:
    """The costs of steps between places: the input is place 0, the others are caches in the network's order."""

    may: NDArray[np.bool_]
    """Whether the second place may come next after the first."""
    latency: Floats
    spends: Floats
    """Wrong answers, and memory where it is limited: places × places × 2."""
    end: Floats
    """Latency from each place to the output; infinite where the lookup would not be over in time."""


class _Label(NamedTuple):
    """A path from the input; the lower promise comes first, then the older label."""

    promise: float
    number: int
    place: int
    latency: float
    spent: tuple[float, float]
    before: _Label | None


def compose(problem: CompositionProblem, most_labels: int = MOST_LABELS) -> Choice:
    """The allowed choice with the least expected latency; empty where no cache brings anything."""
    order = sorted(range(len(problem.caches)), key=lambda index: problem.caches[index].layer)
    steps = _steps(problem, [INPUT, *(problem.caches[index] for index in order)])
    label, choice = _best(problem, steps, most_labels), list[int]()
    while label.before is not None:
        choice.append(order[label.place - 1])
        label = label.before
    return tuple(reversed(choice))


def _steps(problem: CompositionProblem, places: Sequence[Cache]) -> _Steps:
    """All steps; a cache follows only one that answers fewer inputs, since one that answers no others is useless."""
    layer, hit_rate, until, lookup, wrong, memory = np.array(
        [(c.layer, c.hit_rate, problem.until(c), c.lookup, 1 - c.accuracy, c.memory) for c in places]
    ).T
    hits = hit_rate - hit_rate[:, None]
    may = (hits > 0) & (layer > layer[:, None])
    end = (1 - hit_rate) * problem.whole
    if problem.overlapping:
        may &= (until + lookup)[:, None] <= until + ROUNDING
        end[until + lookup > problem.whole + ROUNDING] = np.inf
    asked = hits if problem.overlapping else (1 - hit_rate)[:, None]
    counted = memory if np.isfinite(problem.memory) else 0.0
    spends = np.stack(np.broadcast_arrays(hits * wrong, counted), axis=-1)
    return _Steps(may, hits * until + asked * lookup, spends, end)


def _best(problem: CompositionProblem, steps: _Steps, most_labels: int) -> _Label:
    """The label at the last cache of the best path."""
    limits = np.array([1 - problem.agreement, problem.memory]) + ROUNDING
    prices, rest = _rest(problem, steps, limits)
    best = _Label(0.0, 0, 0, 0.0, (0.0, 0.0), None)
    labels, kept = [best], defaultdict[int, list[_Label]](list)
    made, fastest = 1, float(steps.end[0])
    while labels and made < most_labels:
        label = heappop(labels)
        if label.promise >= fastest:
            break
        if any(_no_worse(each, label) for each in kept[label.place]):
            continue
        kept[label.place].append(label)
        after = np.flatnonzero(steps.may[label.place])
        latency = label.latency + steps.latency[label.place, after]
        spent = label.spent + steps.spends[label.place, after]
        promise = latency + (rest[after] + spent @ prices.T).max(axis=1, initial=0.0)
        fits = (spent <= limits).all(axis=1) & (promise < fastest)
        columns = (after, latency, spent, promise, latency + steps.end[after])
        for place, so_far, both, least, in_all in zip(*(column[fits].tolist() for column in columns), strict=True):
            onwards = _Label(least, made, place, so_far, (both[0], both[1]), label)
            heappush(labels, onwards)
            made += 1
            if in_all < fastest:
                best, fastest = onwards, in_all
    return best


def _no_worse(one: _Label, other: _Label) -> bool:
    return one.latency <= other.latency and one.spent[0] <= other.spent[0] and one.spent[1] <= other.spent[1]


def _rest(problem: CompositionProblem, steps: _Steps, limits: Floats) -> tuple[Floats, Floats]:
    """All pairs of prices; by place and prices the least that the rest takes, less what the limits are worth."""
    limited = np.isfinite(limits)
    levels = [
        [price * problem.whole / limit for price in PRICES] if within else [0.0]
        for limit, within in zip(limits, limited, strict=True)
    ]
    prices = np.array(list(product(*levels)))
    rest = np.empty((len(steps.end), len(prices)))
    for place in reversed(range(len(rest))):
        after = np.flatnonzero(steps.may[place])
        ways = steps.latency[place, after, None] + steps.spends[place, after] @ prices.T + rest[after]
        rest[place] = ways.min(axis=0, initial=steps.end[place])
    return prices, rest - prices @ np.where(limited, limits, 0.0)
