"""At which places exits are worth having: adjustment by their utilities (Dai et al., 2024 [Apparate], §3.3). Pure.

An exit's utility is the latency that inputs saved by leaving there, less what it added to those that did not leave.
Exits with a negative one are given up. What a place without an exit would bring is not known, but hardly more inputs
would leave there than at the next exit further on, together with those of earlier exits that are given up: that bounds
its utility, and the place with the highest bound is tried, its threshold closed until the next tuning.

Sluice has one or two exits in a network, all of which are heard, and tries all sets of them (``learned/tune.py``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

EVERY = 128
"""Inputs between two adjustments."""
BUDGET = 0.02
"""The most that all exits together may add to the latency of an input that leaves nowhere, as a share of it."""


@dataclass(frozen=True, slots=True)
class Places:
    """Where exits can be, in the order of the network; latencies in any unit."""

    until: Sequence[float]
    """The network's latency up to each place."""
    whole: float
    """The network's latency."""
    overhead: Sequence[float]
    """The latency of an exit at each place."""

    def fits(self, active: Sequence[int], budget: float) -> bool:
        """Whether exits at these places keep to the budget."""
        return sum(self.overhead[place] for place in active) <= budget * self.whole + 1e-12


@dataclass(frozen=True, slots=True)
class Adjusted:
    """The exits from now on."""

    active: tuple[int, ...]
    """Places, ascending."""
    trial: int | None = None
    """The one among them that is new."""


def utilities(places: Places, left: Mapping[int, int], inputs: int) -> dict[int, float]:
    """By place of an exit: latency saved less latency added; ``left``: inputs of ``inputs`` that left at each exit."""
    found, reached = dict[int, float](), inputs
    for place in sorted(left):
        found[place] = _utility(places, place, left[place], reached)
        reached -= left[place]
    return found


def adjusted(places: Places, left: Mapping[int, int], inputs: int, budget: float = BUDGET) -> Adjusted:
    """One round. It is to follow a tuning, so that an exit is not given up for a threshold that was too low."""
    values = utilities(places, left, inputs)
    bad = [place for place in values if values[place] < 0]
    if bad:
        return _replaced(places, values, left, inputs, budget)
    return _probed(places, values, budget)


def _replaced(
    places: Places, values: Mapping[int, float], left: Mapping[int, int], inputs: int, budget: float
) -> Adjusted:
    """Give up what does harm, and try the most promising place behind the last exit that does good."""
    good = [place for place in sorted(values) if values[place] >= 0]
    given_up = [place for place in sorted(values) if values[place] < 0]
    after = good[-1] if good else -1
    reached = inputs - sum(left[place] for place in good)
    for candidates in _candidates(places, after, given_up):
        bounds = {
            place: _utility(places, place, min(_at_most(place, given_up, left), reached), reached)
            for place in candidates
        }
        best = max(bounds, key=lambda place: bounds[place], default=None)
        if best is not None and bounds[best] > 0 and places.fits([*good, best], budget):
            return Adjusted(tuple(sorted([*good, best])), best)
    return Adjusted(tuple(good))


def _candidates(places: Places, after: int, given_up: Sequence[int]) -> Iterator[list[int]]:
    """Rounds of candidates: the middle of every interval between given-up exits, then later and later places."""
    edges = [after, *(place for place in given_up if place > after), len(places.until)]
    inside = [list(range(low + 1, high)) for low, high in pairwise(edges)]
    rests = [interval[len(interval) // 2 :] for interval in inside]
    for round_ in range(max(map(len, rests), default=0)):
        yield [rest[round_] for rest in rests if round_ < len(rest)]


def _at_most(place: int, given_up: Sequence[int], left: Mapping[int, int]) -> int:
    """Inputs that may leave at a place: those of the next exit that is given up, and of earlier ones."""
    following = [each for each in given_up if each > place][:1]
    return sum(left[each] for each in given_up if each < place) + sum(left[each] for each in following)


def _probed(places: Places, values: Mapping[int, float], budget: float) -> Adjusted:
    """All exits do good: add one before the best, or move the worst one place towards the input."""
    active = sorted(values)
    if not active:
        return Adjusted(())
    before = max(active, key=lambda place: values[place]) - 1
    if before >= 0 and before not in values and places.fits([*active, before], budget):
        return Adjusted(tuple(sorted([*active, before])), before)
    worst = min(active, key=lambda place: values[place])
    moved = [place for place in active if place != worst]
    if len(active) > 1 and worst > 0 and worst - 1 not in values and places.fits([*moved, worst - 1], budget):
        return Adjusted(tuple(sorted([*moved, worst - 1])), worst - 1)
    return Adjusted(tuple(active))


def _utility(places: Places, place: int, leaving: int, reached: int) -> float:
    saved = places.whole - places.until[place] - places.overhead[place]
    return leaving * saved - (reached - leaving) * places.overhead[place]
