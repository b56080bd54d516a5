"""Thresholds of exits from their words for inputs that ran on, by the rules of Apparate (Dai et al., 2024, §3.2). Pure.

*The chain is certified together.* An input leaves at the first exit that is sure. The climb raises the thresholds, as
long as upper bounds keep two promises: of the answers in which exits have a part not more than ``AIM`` of what is
allowed are wrong, and of those to which the end gives a name not more than what is allowed. Where most objects are
``unknown``, agreement alone would let a third of the names be lost. Answers are those that are published and audited:
where looks at an object are pooled, one for each object.

*Exits that lose are not asked.* One exit or two of them are, within a budget of what lookups may add to an input that
leaves nowhere: those that make inputs cheapest. The paper (§3.3) moves exits in rounds of 128 inputs, since nothing is
known of a place without one. Here all cuts have an exit that is heard, and there are hardly ever more than two.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from cache_adapt.exits.certify import DOUBT, finely, is_tolerable
from cache_adapt.exits.record import Record, Thresholds
from cache_adapt.exits.thresholds import climb
from cache_adapt.learned.heard import Heard
from cache_adapt.learned.specs import MOST_CUTS

AIM = 0.5
"""Share of the wrong answers that are allowed. An audit has to prove that there are no more than are allowed: it takes
200 to 350 audits at half of that, and fails at .65 of it."""
STEPS, LEAPS = 50, (64, 32, 16, 8, 4, 1)
"""Thresholds are raised by such parts of the inputs in the end, and by so many quarters of them: small ones may break
a promise that larger ones keep, where words with few errors come after others."""
BUDGET = 0.02
"""The most that lookups may add to an input that leaves nowhere, as a share of the network."""


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
    """Share of the right ones among the answers in which exits have a part: of objects, where looks are pooled."""
    lost: float
    """Share of what the end named that got another answer."""
    speedup: float
    """How many times as fast one input is as in the network without cuts; less than 1 where exits do not pay."""

    @property
    def answered(self) -> float:
        """Share of all inputs."""
        return sum(self.hit_rates)


def tuned(heard: Heard, costs: ExitCosts, agreement: float, doubt: float = DOUBT, budget: float = BUDGET) -> TunedExits:
    """The exits and thresholds that make inputs cheapest while this share of the answers is the end's.

    ``doubt``: how often a bound may be below the truth; ``budget``: see ``BUDGET``.
    """
    wanted, exits = _Promises(agreement, doubt), range(len(costs.until))
    sets = [asked for count in range(MOST_CUTS + 1) for asked in combinations(exits, count)]
    lookups = [sum(costs.lookup[exit_] for exit_ in asked) for asked in sets]
    fit = [asked for asked, took in zip(sets, lookups, strict=True) if took <= budget * costs.whole + 1e-12]
    return max((_tuned_at(asked, heard, costs, wanted) for asked in fit), key=lambda each: each.speedup)


@dataclass(frozen=True, slots=True)
class _Promises:
    agreement: float
    doubt: float

    def kept(self, heard: Heard, thresholds: Thresholds) -> bool:
        """Whether both bounds are where they are to be."""
        found, allowed = heard.judged(heard.chain(thresholds)), 1 - self.agreement
        if not is_tolerable(*found.evidence(found.answered), AIM * allowed, self.doubt):
            return False
        return is_tolerable(*found.evidence(found.named), allowed, self.doubt)


def _tuned_at(asked: tuple[int, ...], heard: Heard, costs: ExitCosts, wanted: _Promises) -> TunedExits:
    some, leaving, best = heard.at(asked), costs.leaving(asked), np.zeros(len(asked))
    if asked and len(heard.words):
        way = [step for step in _climbed(some, leaving, wanted.agreement) if wanted.kept(some, step)]
        best = _raised(way[-1] if way else best, some, leaving, wanted)
    return _effect(asked, best, heard, costs)


def _climbed(heard: Heard, leaving: Sequence[float], agreement: float) -> Iterator[Thresholds]:
    """Thresholds on the way up. The climb takes the ranks of error scores: most lie close to 0."""
    levels = np.sort(heard.errors, axis=1)
    count = levels.shape[1]
    ranks = np.stack([np.searchsorted(line, each) / count for line, each in zip(levels, heard.errors, strict=True)])
    record = Record.of(ranks, heard.right, leaving)
    for step in finely(climb(record, agreement)):
        shares = np.ceil(step * count - 1e-9).astype(np.intp).tolist()
        yield np.array([_level(line, at) if at else 0.0 for line, at in zip(levels, shares, strict=True)])


def _raised(best: Thresholds, heard: Heard, leaving: Sequence[float], wanted: _Promises) -> Thresholds:
    """Raise one threshold at a time, as long as that saves and the promises are kept: the climb knows one of them."""
    levels, latency = np.sort(heard.errors, axis=1), np.array(leaving)
    quarter = max(levels.shape[1] // STEPS, 4) // 4

    def cost(thresholds: Thresholds) -> float:
        return float(latency[heard.chain(thresholds).place].sum())

    while True:
        tried = [_with(best, exit_, levels[exit_], by * quarter) for exit_ in range(len(best)) for by in LEAPS]
        cheaper = [each for each in tried if cost(each) < cost(best) and wanted.kept(heard, each)]
        if not cheaper:
            return best
        best = min(cheaper, key=cost)


def _with(thresholds: Thresholds, exit_: int, levels: NDArray[np.float32], by: int) -> Thresholds:
    """One of them raised by so many inputs."""
    raised = thresholds.copy()
    raised[exit_] = _level(levels, int(np.searchsorted(levels, thresholds[exit_])) + by)
    return raised


def _level(levels: NDArray[np.float32], at: int) -> float:
    """The threshold below which so many of the error scores lie."""
    return float(levels[at]) if at < len(levels) else 1.0


def _effect(asked: tuple[int, ...], thresholds: NDArray[np.float64], heard: Heard, costs: ExitCosts) -> TunedExits:
    some = heard.at(asked)
    found = some.chain(thresholds)
    judged, inputs = some.judged(found), len(found.place)
    share = np.bincount(found.place, minlength=len(asked) + 1) / max(inputs, 1)
    cost = float(share @ costs.leaving(asked)) if inputs else costs.leaving(asked)[-1]
    by_exit = dict(zip(asked, zip(thresholds.tolist(), share.tolist(), strict=False), strict=False))
    pairs = [by_exit.get(exit_, (0.0, 0.0)) for exit_ in range(len(costs.until))]
    return TunedExits(
        thresholds=tuple(threshold for threshold, _ in pairs),
        hit_rates=tuple(rate for _, rate in pairs),
        agreement=1 - judged.share(judged.answered),
        lost=judged.share(judged.named),
        speedup=costs.whole / cost,
    )
