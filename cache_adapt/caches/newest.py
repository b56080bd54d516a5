"""The newest looks that ran through a whole network, with what its caches say of each. Pure.

They are what thresholds are tuned on while streams run (Dai et al., 2024 [Apparate], §3.2). A cache is asked about a
look when its answer is wanted, and once: most looks are gone before that.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from cache_adapt.caches.architectures import Values
from cache_adapt.caches.learned_cache import LearnedCache
from cache_adapt.caches.tune import CachesHeard

KEPT = 512
"""Looks that are kept, as in the paper; of the oldest batch some more."""

Words = Callable[[Values], NDArray[np.intp]]
"""The word that is published for each row of N × classes."""


@dataclass(frozen=True)
class LookBatch:
    """Some looks, which came together."""

    caches: Sequence[LearnedCache]
    words: Words
    taps: Sequence[Values]
    """For each cache, N × values."""
    answers: NDArray[np.intp]
    """N: the network's own words."""

    @cached_property
    def heard(self) -> CachesHeard:
        """The caches' answers for them."""
        found = [cache.predictor.probabilities(tap) for cache, tap in zip(self.caches, self.taps, strict=True)]
        errors = [cache.errors(each) for cache, each in zip(self.caches, found, strict=True)]
        return CachesHeard(np.stack(errors), np.stack([self.words(each) == self.answers for each in found]))


class NewestLooks:
    """The looks of one set of caches."""

    def __init__(self, caches: Sequence[LearnedCache], words: Words, kept: int = KEPT) -> None:
        self._caches, self._words, self._kept = caches, words, kept
        self._looks: deque[LookBatch] = deque()
        self._count = 0

    def add(self, taps: Sequence[Values], answers: NDArray[np.intp]) -> None:
        """Take N looks: for each cache what it reads, and the network's own words."""
        self._looks.append(LookBatch(self._caches, self._words, taps, answers))
        self._count += len(answers)
        while self._count - len(self._looks[0].answers) >= self._kept:
            self._count -= len(self._looks.popleft().answers)

    @property
    def now(self) -> Sequence[LookBatch]:
        """Those that are kept at present, in their order."""
        return tuple(self._looks)


def heard(looks: Sequence[LookBatch]) -> CachesHeard:
    """Caches' answers for all of them, of which there is one at least."""
    found = [each.heard for each in looks]
    errors, right = ([getattr(each, name) for each in found] for name in ("errors", "right"))
    return CachesHeard(np.concatenate(errors, axis=1), np.concatenate(right, axis=1))
