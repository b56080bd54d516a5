"""Answers of objects, which pool their looks: many pools at once. Pure.

Answers are published of objects, so what exits promise is promised of objects. The rule is that of
``operators/recognise/objects/pool.py``, where it is explained; here it is computed for arrays.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
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
    """The objects of N looks."""

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

    def at(self, rows: slice | NDArray[np.bool_] | NDArray[np.intp]) -> ShownLooks:
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


@dataclass(frozen=True)
class PooledAnswers:
    """The answers of M objects from looks at them, of which each is that of one of R exits, or of the end."""

    objects: NDArray[np.intp]
    """N: the number of each look's object, 0…M − 1."""
    _words: NDArray[np.intp]
    """The words that are published of the labels which are said."""
    _labels: NDArray[np.intp]
    """R + 1 × N: which of these labels each look gives; the end's last."""
    _support: NDArray[np.float64]
    """R + 1 × N: what each look adds to the logarithm of its label's probability."""
    _scale: NDArray[np.float64]
    """M: what the sum of an object's looks is worth."""
    _rule: PoolRule
    _unknown: int
    _least: float

    @classmethod
    def of_looks(
        cls, objects: NDArray[np.intp], shown: ShownLooks, said: SaidLooks, words: Vocabulary, rule: PoolRule
    ) -> PooledAnswers:
        """``objects``: see there; ``said``: R + 1 × N, the end's last. There is a look."""
        count = int(objects.max()) + 1
        is_whole = np.bincount(objects, shown.whole, count) > 0
        weights = np.where(shown.whole | ~is_whole[objects], shown.weights, 0).astype(np.float64)
        total, squares = (np.bincount(objects, each, count) for each in (weights, weights**2))
        looks = total**2 / squares
        scale = np.where(is_whole, 1.0, rule.part) * looks / (1 + rule.correlation * (looks - 1)) / total
        known, labels = np.unique(said.labels, return_inverse=True)
        certain = np.clip(said.certainties.astype(np.float64), LEAST, MOST)
        support = weights * np.maximum(np.log(certain * (rule.words - 1) / (1 - certain)), 0)
        published = np.where(np.isin(known, words.nameless), words.unknown, known)
        shape, least = said.labels.shape, 0.0 if rule.by_look else words.least_confidence
        return cls(objects, published, labels.reshape(shape), support, scale, rule, words.unknown, least)

    @property
    def count(self) -> int:
        """M."""
        return len(self._scale)

    @cached_property
    def end(self) -> WordNumbers:
        """M: the end's."""
        return self.of(np.full(len(self.objects), len(self._labels) - 1))

    def of(self, place: NDArray[np.intp]) -> WordNumbers:
        """M: what is published where each look is that of the exit at this place (N); R: that of the end."""
        rows, shape = np.arange(len(place)), (self.count, len(self._words))
        cells, size = self.objects * shape[1] + self._labels[place, rows], self.count * shape[1]
        support = np.bincount(cells, self._support[place, rows], size).reshape(shape)
        is_said = np.bincount(cells, minlength=size).reshape(shape) > 0
        best = np.where(is_said, support, -1).argmax(axis=1)
        most = support[np.arange(self.count), best]
        told = np.where(is_said, np.exp(self._scale[:, None] * (support - most[:, None])), 0).sum(axis=1)
        unsaid = np.maximum(self._rule.words - is_said.sum(axis=1), 0) * np.exp(-self._scale * most)
        is_sure = np.round(1 / (told + unsaid), DIGITS) >= self._least
        answers: WordNumbers = np.where(is_sure, self._words[best], self._unknown)
        return answers

    def at(self, exits: Sequence[int]) -> PooledAnswers:
        """With some of the exits, by their places."""
        kept = [*exits, len(self._labels) - 1]
        return replace(self, _labels=self._labels[kept], _support=self._support[kept])
