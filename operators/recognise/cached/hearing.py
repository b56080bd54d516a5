"""The answers of new caches to looks that went through the whole oracle, until their thresholds are chosen."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace

import msgspec
import numpy as np
from numpy.typing import NDArray

from cache_adapt.caches.store import BuiltCaches
from cache_adapt.caches.tune import CachesHeard, TunedChoice, tuned
from operators.recognise.cached.building import CutPlace, costs_of
from operators.recognise.classifier import Classifier, probabilities
from serving.engines.exits import ExitOutputs

ENOUGH, MOST = 256, 512
"""Looks that are heard before thresholds are chosen; so many at most, where fewer do not show that any pay."""


class Hearing:
    """The record of one set of caches."""

    def __init__(
        self,
        built: BuiltCaches,
        places: Sequence[CutPlace],
        recogniser: Classifier,
        clock: Callable[[], float] = time.thread_time,
    ) -> None:
        """``places``: all cuts of the network, in its order; ``clock``: tells processor seconds of this thread."""
        self._built, self._places, self._recogniser, self._clock = built, places, recogniser, clock
        tensors = [cut.tensor for cut in places]
        self._cuts = [tensors.index(cache.tensor) for cache in built.caches]
        self._errors: list[NDArray[np.float32]] = []
        self._right: list[NDArray[np.bool_]] = []
        self._spent_s, self.looks, self._wanted = [0.0] * len(self._cuts), 0, ENOUGH

    @property
    def is_enough(self) -> bool:
        """Whether thresholds can be chosen."""
        return self.looks >= self._wanted

    def goes_on(self) -> bool:
        """Hear as many looks again, since those so far show nothing; False where that was done."""
        again = self._wanted < MOST
        self._wanted = MOST
        return again

    @property
    def spent_s(self) -> float:
        return sum(self._spent_s)

    def hear(self, found: ExitOutputs) -> None:
        """Look up what went through to the end, with all taps. Words count that would be published."""
        words, card = self._recogniser.words, self._recogniser.card
        answers = words(probabilities(card, found.scores))
        errors, right = [], []
        for place, (cache, cut) in enumerate(zip(self._built.caches, self._cuts, strict=True)):
            before_s = self._clock()
            distribution = cache.predictor.probabilities(found.taps[cut])
            errors.append(cache.errors(distribution))
            right.append(words(distribution) == answers)
            self._spent_s[place] += self._clock() - before_s
        self._errors.append(np.stack(errors))
        self._right.append(np.stack(right))
        self.looks += len(answers)

    def best(self, look_s: float, agreement: float) -> TunedChoice | None:
        """The caches that are to answer, where a look takes so long; None where none pay."""
        lookups = [spent_s / max(self.looks, 1) for spent_s in self._spent_s]
        costs = costs_of(self._places, self._cuts, lookups, look_s)
        return tuned(
            CachesHeard(np.concatenate(self._errors, axis=1), np.concatenate(self._right, axis=1)), costs, agreement
        )

    def chosen(self, best: TunedChoice, agreement: float) -> BuiltCaches:
        """The caches that are to answer, with their thresholds."""
        caches = tuple(
            replace(self._built.caches[place], threshold=threshold)
            for place, threshold in zip(best.chosen, best.thresholds, strict=True)
        )
        cards = tuple(
            msgspec.structs.replace(self._built.card.caches[place], threshold=threshold, hit_rate=rate)
            for place, threshold, rate in zip(best.chosen, best.thresholds, best.hit_rates, strict=True)
        )
        card = msgspec.structs.replace(self._built.card, agreement=agreement, speedup=best.speedup, caches=cards)
        return BuiltCaches(card, caches)
