"""A learned exit: predictor and selector at a cut (Balasubramanian et al., 2021 [GATI], Figure 3), for one stream or
for all.

It says a word with an error score. For the word alone no probabilities would be needed, but the looks at an object are
pooled by them, and an answer ``unknown`` must tell what the object may be: a linear map to the end's probabilities,
learnt beside the predictor, says that.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cache_adapt.learned.architectures import Values
from cache_adapt.learned.predictor import Predictor
from cache_adapt.learned.selector import Selector, largest
from cache_adapt.learned.vocabulary import Shares, Vocabulary, WordNumbers

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
    vocabulary: Vocabulary
    seen: tuple[int, ...]
    """The words that it knows, ascending: its predictor's outputs."""
    predictor: Predictor
    soft: SoftMap | None = None
    """None: the predictor's own probabilities stand for the end's."""
    selector: Selector | None = None
    """None: the predictor's largest probability decides."""
    threshold: float = 0.0
    """It is sure of words with a lower error score; 0: of none."""
    answers: NDArray[np.bool_] | None = None
    """L + 1: the words that it may answer with; None: all."""

    def at(self, threshold: float, answers: NDArray[np.bool_] | None = None) -> LearnedExit:
        """The same exit with another threshold, for these words only."""
        return replace(self, threshold=threshold, answers=answers)

    @property
    def memory_bytes(self) -> int:
        soft = sum(part.nbytes for part in self.soft.layer) if self.soft else 0
        return self.predictor.memory_bytes + soft + (self.selector.memory_bytes if self.selector else 0)

    def look(self, features: Values) -> ExitLook:
        """Look at N × values; see ``Exit``."""
        predicted = self.predictor.probabilities(features)
        words, errors = self._saying(predicted)
        hit = errors < min(self.threshold, 1.0)
        if self.answers is not None:
            hit &= self.answers[words]
        if hit.all():
            return ExitLook(self.vocabulary.adjusted(self._shares(features, predicted), words), hit)
        found = np.zeros((len(features), self.vocabulary.labels), np.float32)
        if hit.any():
            found[hit] = self.vocabulary.adjusted(self._shares(features[hit], predicted[hit]), words[hit])
        return ExitLook(found, hit)

    def words(self, features: Values) -> Saying:
        """Its words for N × values, whatever its threshold and the words that it may answer with."""
        return self._saying(self.predictor.probabilities(features))

    def score(self, features: Values, words: WordNumbers) -> NDArray[np.float32]:
        """The quadratic score of its probabilities for N × values, of which these are the end's words: N, 0…1.

        1 where it is sure of the end's word, 0 where it is sure of another (Brier, 1950; halved, and turned round).
        """
        predicted = self.predictor.probabilities(features)
        found = np.where(self._numbers == words[:, None], predicted, 0).sum(axis=1)
        score: NDArray[np.float32] = (1 + 2 * found - np.square(predicted).sum(axis=1)) / 2
        return score

    def _saying(self, predicted: Shares) -> Saying:
        errors = largest(predicted) if self.selector is None else self.selector.errors(predicted)
        errors[~predicted.any(axis=1)] = 1
        return Saying(self._numbers[predicted.argmax(axis=1)], errors)

    @cached_property
    def _numbers(self) -> WordNumbers:
        return np.array(self.seen, np.intp)

    def _shares(self, features: Values, predicted: Shares) -> Shares:
        if self.soft is not None:
            return self.soft.shares(features, self.vocabulary.labels)
        found = np.zeros((len(features), self.vocabulary.labels + 1), np.float32)
        found[:, list(self.seen)] = predicted
        return found[:, :-1]
