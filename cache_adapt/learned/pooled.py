"""Answers of objects, which pool their looks: many pools at once. Pure.

Answers are published of objects, so what exits promise is promised of objects. The rule is that of
``operators/recognise/objects/pool.py``, where it is explained; here it is computed for arrays.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cache_adapt.learned.vocabulary import Shares, Vocabulary, WordNumbers

LEAST, MOST = 1e-3, 0.99
"""Bounds of a look's certainty."""
DIGITS = 4
"""Confidences have so many."""


@dataclass(frozen=True, slots=True)
class PoolRule:
    """How the looks at one object become one answer."""

    words: int
    """K ≥ 2: how many a look may say."""
    correlation: float
    """ρ, 0…1, of the looks at one object."""
    part: float
    """The worth of looks at an object of which the whole was never seen, beside others."""
    by_look: bool = False
    """Whether each look names the object or says ``unknown``; else only the pool does, by its posterior."""


class ShownLooks(NamedTuple):
    """What N looks were made at."""

    objects: Sequence[str]
    """Names of the objects."""
    weights: NDArray[np.float32]
    """The weight of each look beside others at its object, above 0."""
    whole: NDArray[np.bool_]
    """Whether all of the object is seen; where it is in one look, looks at a part of it do not count."""

    @classmethod
    def of(cls, objects: Sequence[str]) -> ShownLooks:
        """Looks that weigh the same, each at a whole object."""
        return cls(objects, np.ones(len(objects), np.float32), np.ones(len(objects), np.bool_))

    @classmethod
    def joined(cls, looks: Sequence[ShownLooks]) -> ShownLooks:
        """One after the other; there are some."""
        objects = [each for few in looks for each in few.objects]
        return cls(objects, *(np.concatenate(each) for each in zip(*(few[1:] for few in looks), strict=True)))

    def at(self, rows: slice | NDArray[np.intp]) -> ShownLooks:
        """Some of them."""
        which = np.arange(len(self.objects))[rows].tolist()
        return ShownLooks([self.objects[row] for row in which], self.weights[rows], self.whole[rows])


class SaidLooks(NamedTuple):
    """The labels that looks give, 0…L (L: ``unknown``), and how certain they are, 0…1: N, or R × N by several."""

    labels: WordNumbers
    certainties: NDArray[np.float32]

    @classmethod
    def of(cls, shares: Shares, words: Vocabulary, by_look: bool = False) -> SaidLooks:
        """``shares``: N × L; ``by_look``: see ``PoolRule``."""
        labels, certain = shares.argmax(axis=1), np.round(shares.max(axis=1), DIGITS)
        if not by_look:
            return cls(labels, certain)
        named = certain >= words.least_confidence
        return cls(np.where(named, labels, words.unknown), np.where(named, certain, 1 - certain))

    def at(self, rows: slice) -> SaidLooks:
        """Some of the looks."""
        return SaidLooks(self.labels[..., rows], self.certainties[..., rows])


class Pools:
    """The pools of M objects, whoever answers the looks at them."""

    def __init__(self, objects: NDArray[np.intp], shown: ShownLooks, words: Vocabulary, rule: PoolRule) -> None:
        """``objects``: the number of each look's object, 0…M − 1."""
        self._rule, self._words, self.count = rule, words, int(objects.max(initial=-1)) + 1
        self.objects = objects
        is_whole = np.bincount(objects, shown.whole, self.count) > 0
        self._kept = np.flatnonzero(shown.whole | ~is_whole[objects])
        self._of, self._weights = objects[self._kept], shown.weights[self._kept].astype(np.float64)
        total, squares = (np.bincount(self._of, each, self.count) for each in (self._weights, self._weights**2))
        looks = total**2 / squares
        self._scale = np.where(is_whole, 1.0, rule.part) * looks / (1 + rule.correlation * (looks - 1)) / total
        self._names = np.arange(words.unknown + 1)
        self._names[list(words.nameless)] = words.unknown

    def answers(self, said: SaidLooks) -> WordNumbers:
        """M: the words that are published of the objects."""
        known, places = np.unique(said.labels[self._kept], return_inverse=True)
        certain = np.clip(said.certainties[self._kept].astype(np.float64), LEAST, MOST)
        odds = np.log(certain * (self._rule.words - 1) / (1 - certain))
        cells, shape = self._of * len(known) + places, (self.count, len(known))
        support = np.bincount(cells, self._weights * np.maximum(odds, 0), self.count * len(known)).reshape(shape)
        is_said = np.bincount(cells, minlength=self.count * len(known)).reshape(shape) > 0
        best = np.where(is_said, support, -1).argmax(axis=1)
        most = support[np.arange(self.count), best]
        words: WordNumbers = self._names[known[best]]
        if self._rule.by_look:
            return words
        told = np.where(is_said, np.exp(self._scale[:, None] * (support - most[:, None])), 0).sum(axis=1)
        unsaid = np.maximum(self._rule.words - is_said.sum(axis=1), 0) * np.exp(-self._scale * most)
        is_sure = np.round(1 / (told + unsaid), DIGITS) >= self._words.least_confidence
        answers: WordNumbers = np.where(is_sure, words, self._words.unknown)
        return answers


@dataclass(frozen=True, slots=True)
class PooledAnswers:
    """The looks of R exits and of the end at the same objects."""

    pools: Pools
    said: SaidLooks
    """R + 1 × N; the end's last."""
    end: WordNumbers
    """M: the answers of the end."""

    @classmethod
    def from_looks(cls, pools: Pools, said: SaidLooks) -> PooledAnswers:
        return cls(pools, said, pools.answers(SaidLooks(said.labels[-1], said.certainties[-1])))

    def of(self, place: NDArray[np.intp]) -> WordNumbers:
        """M: the answers where each look is that of the exit at this place (N); R: that of the end."""
        rows = np.arange(len(place))
        return self.pools.answers(SaidLooks(self.said.labels[place, rows], self.said.certainties[place, rows]))

    def at(self, exits: Sequence[int]) -> PooledAnswers:
        """With some of the exits, by their places."""
        kept = [*exits, len(self.said.labels) - 1]
        return PooledAnswers(self.pools, SaidLooks(self.said.labels[kept], self.said.certainties[kept]), self.end)
