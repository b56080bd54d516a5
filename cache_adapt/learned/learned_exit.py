"""A learned exit: a softmax regression on the tap of a cut, for one stream or for all (after Balasubramanian et al.,
2021 [GATI], Figure 3; the largest probability stands for their selector).

It says a word with an error score. For the word alone no probabilities would be needed, but the looks at an object are
pooled by them, and an answer ``unknown`` must tell what the object may be: a linear map to the end's probabilities,
learnt beside the words, says that.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from cache_adapt.learned.vocabulary import Shares, Vocabulary, WordNumbers
from serving.common.tensors import softmax

Values = NDArray[np.float32]
Grid = tuple[int, int, int]
"""Channels, rows, columns of a tap."""
Layer = tuple[Values, Values]
"""Weights and bias."""


class ExitLook(NamedTuple):
    """An exit's answers for N items."""

    distribution: Shares
    """N × L; zeros where it is not sure."""
    hit: NDArray[np.bool_]
    """N: whether it is sure."""


class Saying(NamedTuple):
    """The words of an exit for N items, sure or not."""

    words: WordNumbers
    errors: NDArray[np.float32]
    """Error scores 0…1; the surer, the lower. 1: it has seen no numbers, and is never sure."""


class SoftMap(NamedTuple):
    """Tells the end's probabilities of some labels; the others have none."""

    labels: tuple[int, ...]
    layer: Layer
    """Weights (values × labels) and bias."""

    def shares(self, features: Values, labels: int) -> Shares:
        """N × all labels."""
        weights, bias = self.layer
        told = features @ weights + bias
        if len(self.labels) == labels:
            return told
        found = np.zeros((len(features), labels), np.float32)
        found[:, list(self.labels)] = told
        return found


@dataclass(frozen=True)
class LearnedExit:
    """One exit; it implements ``Exit`` of the engines."""

    tensor: str
    """The cut tensor whose tap it reads."""
    grid: Grid
    vocabulary: Vocabulary
    seen: tuple[int, ...]
    """The words that it knows, ascending: the outputs of its layer."""
    layer: Layer
    """Weights (values × words) and bias; standardisation is folded in."""
    soft: SoftMap
    threshold: float = 0.0
    """It is sure of words with a lower error score; 0: of none."""
    answers: NDArray[np.bool_] | None = None
    """L + 1: the words that it may answer with; None: all."""

    def at(self, threshold: float, answers: NDArray[np.bool_] | None = None) -> Self:
        """The same exit with another threshold, for these words only."""
        return replace(self, threshold=threshold, answers=answers)

    def look(self, features: Values) -> ExitLook:
        """Look at N × values; see ``Exit``."""
        said = self.words(features)
        hit = said.errors < min(self.threshold, 1.0)
        if self.answers is not None:
            hit &= self.answers[said.words]
        found = np.zeros((len(features), self.vocabulary.labels), np.float32)
        if hit.any():
            found[hit] = self.shares(features[hit], said.words[hit])
        return ExitLook(found, hit)

    def words(self, features: Values) -> Saying:
        """Its words for N × values, whatever its threshold and the words that it may answer with."""
        predicted = self.probabilities(features)
        errors = self.errors(predicted)
        errors[~predicted.any(axis=1)] = 1
        return Saying(self._numbers[predicted.argmax(axis=1)], errors)

    def shares(self, features: Values, words: WordNumbers) -> Shares:
        """N × L: the probabilities of the labels, where these are its words for N × values."""
        return self.vocabulary.adjusted(self.soft.shares(features, self.vocabulary.labels), words)

    def score(self, features: Values, words: WordNumbers) -> NDArray[np.float32]:
        """The quadratic score of its probabilities for N × values, of which these are the end's words: N, 0…1.

        1 where it is sure of the end's word, 0 where it is sure of another (Brier, 1950; halved, and turned round).
        """
        predicted = self.probabilities(features)
        found = np.where(self._numbers == words[:, None], predicted, 0).sum(axis=1)
        score: NDArray[np.float32] = (1 + 2 * found - np.square(predicted).sum(axis=1)) / 2
        return score

    def probabilities(self, features: Values) -> Shares:
        """N × ``seen`` that sum to 1 for N × values; no numbers give zeros, which are never sure."""
        weights, bias = self.layer
        with np.errstate(invalid="ignore", over="ignore"):
            shares = softmax(features @ weights + bias)
        shares[~np.isfinite(shares)] = 0
        return shares

    def errors(self, predicted: Shares) -> NDArray[np.float32]:
        """The error score of each of N probabilities of words: how probably the word is wrong, and a name is lost.

        Both are promised, so both count alike: an exit may be less sure where it says a name and the end may say none.
        """
        wrong: NDArray[np.float32] = 1 - predicted.max(axis=1)
        unnamed = predicted[:, self._numbers == self.vocabulary.unknown].sum(axis=1)
        says_name = self._numbers[predicted.argmax(axis=1)] != self.vocabulary.unknown
        lost = np.where(says_name, np.maximum(wrong - unnamed, 0), wrong)
        found: NDArray[np.float32] = np.asarray((wrong + lost) / 2, np.float32)
        return found

    @cached_property
    def _numbers(self) -> WordNumbers:
        return np.array(self.seen, np.intp)
