"""Thresholds of exits from what they said of inputs that ran on: rules of Apparate (Dai et al., 2024, §3.2, §3.3). Pure.

*The chain is certified together.* An input leaves at the first exit that is sure. The climb raises the thresholds, and
its last step is taken at which upper bounds keep two promises: among all answers not more than ``AIM`` of what is
allowed are wrong, and among the inputs to which the end gives a name not more than ``NAMES`` of it get another answer.
Where most inputs are ``unknown``, agreement alone would let a third of the names be lost.

*Exits that lose are not asked.* In rounds, exits that cost more than they save are left, and places before and between
are tried, within a budget of what lookups may add to an input that leaves nowhere. In the paper a round waits for 128
inputs, since nothing is known of a place without an exit. Here all cuts have an exit that is heard, so rounds follow
each other at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cache_adapt.exits.certify import DOUBT, finely, is_tolerable
from cache_adapt.exits.ramps import BUDGET, Places, adjusted
from cache_adapt.exits.record import Record, Thresholds
from cache_adapt.exits.thresholds import climb
from cache_adapt.learned.heard import Heard

AIM, NAMES = 0.8, 0.5
"""Shares of the wrong answers that are allowed: among answers, and among what the end named."""
MOST_REPEATS = 32
"""A row of a large weight counts as so many at most where thresholds are sought; the bounds take its whole weight."""
INPUTS = 10_000
"""Utilities are told of so many inputs, in whole ones."""


@dataclass(frozen=True, slots=True)
class ExitCosts:
    """Costs of one input in any unit, by exit, in the order of the network."""

    until: Sequence[float]
    """The network up to each exit, with the cuts on the way."""
    lookup: Sequence[float]
    """Asking each exit."""
    through: float
    """The network with all its cuts."""
    whole: float
    """The network without cuts."""

    @classmethod
    def of(cls, shares: Sequence[float], look: float, cut: float, lookup: float) -> ExitCosts:
        """Exits at these shares of a look's work; ``cut``, ``lookup``: the cost of each cut and of asking an exit."""
        until = [share * look + (place + 1) * cut for place, share in enumerate(shares)]
        return cls(until, [lookup] * len(until), look + len(until) * cut, look)

    def leaving(self, asked: Sequence[int]) -> list[float]:
        """The cost of an input that leaves at each of these exits, where no others are asked, then at none."""
        found, lookups = [], 0.0
        for place in asked:
            lookups += self.lookup[place]
            found.append(self.until[place] + lookups)
        return [*found, self.through + lookups]


@dataclass(frozen=True, slots=True)
class TunedExits:
    """Thresholds, and what they did to the inputs that they were tuned on."""

    thresholds: tuple[float, ...]
    """By exit; 0: it is not asked."""
    hit_rates: tuple[float, ...]
    """Share of all inputs that each answers."""
    agreement: float
    """Share of the right ones among the answers."""
    lost: float
    """Share of the inputs that the end named which got another answer."""
    speedup: float
    """How many times as fast one input is as in the network without cuts; less than 1 where exits do not pay."""

    @property
    def answered(self) -> float:
        """Share of all inputs."""
        return sum(self.hit_rates)


def tuned(
    heard: Heard, costs: ExitCosts, agreement: float, doubt: float = DOUBT, budget: float = BUDGET
) -> TunedExits:
    """The exits and thresholds that make inputs cheapest while this share of the answers is the end's.

    ``doubt``: how often a bound may be below the truth; ``budget``: the most that lookups may add to an input that
    leaves nowhere, as a share of the whole network.
    """
    places = Places(costs.until, costs.whole, costs.lookup)
    known: dict[tuple[int, ...], TunedExits] = {(): _tuned_at((), heard, costs, agreement, doubt)}
    for exit_ in range(len(costs.until)):
        asked: tuple[int, ...] = (exit_,) if places.fits([exit_], budget) else ()
        while asked not in known:
            found = known[asked] = _tuned_at(asked, heard, costs, agreement, doubt)
            left = {place: round(found.hit_rates[place] * INPUTS) for place in asked}
            asked = adjusted(places, left, INPUTS, budget).active
    return max(known.values(), key=lambda each: each.speedup)


def _tuned_at(
    asked: tuple[int, ...], heard: Heard, costs: ExitCosts, agreement: float, doubt: float
) -> TunedExits:
    some, best = heard.at(asked), np.zeros(len(asked))
    if asked and len(heard.words):
        way = _climbed(some, costs.leaving(asked), agreement)
        best = max((step for step in way if _keeps(some, step, agreement, doubt)), key=np.sum, default=best)
    return _effect(asked, best, heard, costs)


def _climbed(heard: Heard, leaving: Sequence[float], agreement: float) -> Iterator[Thresholds]:
    """Thresholds on the way up. The climb takes the ranks of error scores: most lie close to 0."""
    smallest = max(float(heard.weights.min()), 1e-9)
    repeats = np.clip(np.rint(heard.weights / smallest), 1, MOST_REPEATS).astype(np.intp)
    errors = np.repeat(heard.errors, repeats, axis=1)
    ordered = np.sort(errors, axis=1)
    count = ordered.shape[1]
    ranks = np.stack([np.searchsorted(line, each) / count for line, each in zip(ordered, errors, strict=True)])
    record = Record.of(ranks, np.repeat(heard.right, repeats, axis=1), leaving)
    above = np.concatenate([ordered, np.ones((len(ordered), 1), ordered.dtype)], axis=1)
    for step in finely(climb(record, agreement)):
        at = np.ceil(step * count - 1e-9).astype(np.intp)
        yield np.where(at > 0, above[np.arange(len(above)), at], 0.0).astype(np.float64)


def _keeps(heard: Heard, thresholds: NDArray[np.float64], agreement: float, doubt: float) -> bool:
    """Whether both promises hold."""
    found = heard.chain(thresholds)
    answered = found.place < len(thresholds)
    wrong, answers = heard.evidence(found.wrong, answered)
    lost, names = heard.evidence(found.wrong, heard.named)
    allowed = 1 - agreement
    return is_tolerable(wrong, answers, AIM * allowed, doubt) and is_tolerable(lost, names, NAMES * allowed, doubt)


def _effect(asked: tuple[int, ...], thresholds: NDArray[np.float64], heard: Heard, costs: ExitCosts) -> TunedExits:
    found = heard.at(asked).chain(thresholds)
    weights = heard.weights / max(float(heard.weights.sum()), 1e-9)
    share = np.bincount(found.place, weights, len(asked) + 1)
    cost = float(share @ costs.leaving(asked)) if len(weights) else costs.leaving(asked)[-1]
    answered, named = found.place < len(asked), heard.named
    by_exit = dict(zip(asked, zip(thresholds.tolist(), share.tolist(), strict=False), strict=False))
    pairs = [by_exit.get(exit_, (0.0, 0.0)) for exit_ in range(len(costs.until))]
    return TunedExits(
        thresholds=tuple(threshold for threshold, _ in pairs),
        hit_rates=tuple(rate for _, rate in pairs),
        agreement=1 - _share(weights, found.wrong, answered),
        lost=_share(weights, found.wrong, named),
        speedup=costs.whole / cost,
    )


def _share(weights: NDArray[np.floating], what: NDArray[np.bool_], among: NDArray[np.bool_]) -> float:
    whole = float(weights[among].sum())
    return float(weights[what & among].sum()) / whole if whole else 0.0
