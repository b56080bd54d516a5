"""The words that exits say: the labels of a recogniser, and ``unknown``, which is a word like any other. Pure."""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise
from typing import Annotated

import msgspec
import numpy as np
from numpy.typing import NDArray

Shares = NDArray[np.float32]
WordNumbers = NDArray[np.intp]

MOST_LABELS = 65536
BELOW = 0.6
"""Where ``unknown`` is said and the shares speak for a name, they are as sure of it as such looks are on average: this
share of the least confidence. Looks are pooled, and several that are nearly sure of a name would give it."""
ABOVE = 2 / 3
"""Where a name is said, the shares are as sure of it as such looks are on average: this part of the way from the least
confidence to 1. A name that is only just said is lost in the pool of an object of which a part is seen."""
NEARLY = 0.08
"""A name that is so much surer, or less sure, than the least confidence is taken to be the other word with a
probability of .27: the end's confidence is not exact. A quarter of this, and more than twice, taught exits less."""
APART = 1e-3
"""By so much a name that is said is more probable than all others, at least."""
Number = Annotated[int, msgspec.Meta(ge=0, lt=MOST_LABELS)]


class Vocabulary(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Labels are numbered 0 … L − 1, as the recogniser lists them; L is the word ``unknown``.

    >>> words = Vocabulary(labels=3, least_confidence=0.6, nameless=(2,))
    >>> words.of(np.array([[0.7, 0.2, 0.1], [0.5, 0.4, 0.1], [0.1, 0.1, 0.8]], np.float32)).tolist()
    [0, 3, 3]
    """

    labels: Annotated[int, msgspec.Meta(ge=2, le=MOST_LABELS)]
    """L."""
    least_confidence: Annotated[float, msgspec.Meta(ge=0, le=1)]
    """Below it the recogniser says no name."""
    nameless: tuple[Number, ...] = ()
    """Labels that name nothing, as "other": they count as ``unknown``. Ascending."""

    def __post_init__(self) -> None:
        if not is_ascending(self.nameless, self.labels):
            raise ValueError("labels without a name must be labels, ascending")

    @property
    def unknown(self) -> int:
        return self.labels

    def of(self, shares: Shares) -> WordNumbers:
        """The word of each row of N × L probabilities."""
        best = shares.argmax(axis=1)
        named = (shares.max(axis=1) >= self.least_confidence) & self._has_name[best]
        return np.where(named, best, self.unknown)

    def leanings(self, shares: Shares, words: WordNumbers) -> Shares:
        """How near N × L probabilities that say these words are to a name: N × (L + 1), of each row one name at most.

        >>> words = Vocabulary(labels=2, least_confidence=0.7)
        >>> shares = np.array([[0.98, 0.02], [0.69, 0.31], [0.5, 0.5]], np.float32)
        >>> (100 * words.leanings(shares, words.of(shares))).round().astype(int).tolist()
        [[97, 0, 3], [47, 0, 53], [8, 0, 92]]
        """
        rows, said = np.arange(len(words)), words != self.unknown
        best = shares.argmax(axis=1)
        named = 1 / (1 + np.exp((self.least_confidence - shares[rows, best]) / NEARLY)) * self._has_name[best]
        named, best = np.where(said, np.maximum(named, 0.5), np.minimum(named, 0.5)), np.where(said, words, best)
        found = np.zeros((len(words), self.labels + 1), np.float32)
        found[rows, best], found[:, self.unknown] = named, 1 - named
        return found

    def adjusted(self, shares: Shares, words: WordNumbers) -> Shares:
        """N × L shares, whatever numbers they are, changed as little as it takes to say these words."""
        found = np.fmin(np.fmax(shares, 0), 1)
        found /= np.fmax(found.sum(axis=1, keepdims=True), 1)
        unnamed = words == self.unknown
        if unnamed.all():
            return self._without_name(found)
        if unnamed.any():
            found[unnamed], named = self._without_name(found[unnamed]), ~unnamed
            found[named] = self._with_name(found[named], words[named])
            return found
        return self._with_name(found, words)

    def _without_name(self, shares: Shares) -> Shares:
        if not self.least_confidence:  # then only a label without a name is none
            return np.eye(self.labels, dtype=np.float32)[[self.nameless[0] if self.nameless else 0] * len(shares)]
        highest = shares.max(axis=1, where=self._has_name, initial=0, keepdims=True)
        sure = highest >= self.least_confidence
        scale = np.where(sure, BELOW * self.least_confidence / np.maximum(highest, 1e-6), 1)
        return np.where(self._has_name, shares * scale, shares)

    def _with_name(self, shares: Shares, words: WordNumbers) -> Shares:
        rows = np.arange(len(words))
        mine = shares[rows, words]
        shares[rows, words] = 0
        others = shares.max(axis=1)
        sure = self.least_confidence + ABOVE * (1 - self.least_confidence)
        to_sure = (sure - mine) / np.maximum(1 - mine, 1e-6)
        apart = (others - mine + APART) / np.maximum(1 + others - mine, 1e-6)
        taken = np.fmin(np.maximum(np.maximum(to_sure, apart), 0), 1)
        shares *= (1 - taken)[:, None]
        shares[rows, words] = np.maximum(mine + taken * (1 - mine), np.float32(self.least_confidence))
        return shares

    @property
    def _has_name(self) -> NDArray[np.bool_]:
        return _named(self.labels, self.nameless)


@lru_cache(maxsize=64)
def _named(labels: int, nameless: tuple[int, ...]) -> NDArray[np.bool_]:
    """L: whether each label has a name."""
    found = np.ones(labels, np.bool_)
    found[list(nameless)] = False
    return found


def is_ascending(numbers: tuple[int, ...], below: int) -> bool:
    """Whether numbers are 0 … ``below`` − 1, each larger than the one before."""
    return all(one < other for one, other in pairwise((-1, *numbers, below)))
