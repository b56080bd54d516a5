"""Predictions for inputs that predictors were not trained on, for all inputs: cross-fitting in folds of neighbours."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from benchmarks.caches_parts.forms import Values
from benchmarks.caches_parts.selector import largest
from benchmarks.caches_parts.training import Lessons, train_predictor, train_selector

FOLDS = 3


@dataclass(frozen=True, slots=True)
class HeldOutPredictions:
    """N inputs."""

    distribution: Values
    """N × words, by predictors that had not seen the input."""
    right: NDArray[np.bool_]
    """N: whether the word is the network's."""
    errors: dict[bool, NDArray[np.float32]]
    """N error scores of each rival: True: selectors that had not seen the input, False: the largest probability."""


def held(name: str, lessons: Lessons, rng: Generator) -> HeldOutPredictions:
    """Cross-fit predictors of a form, then selectors on their predictions."""
    fold = folds(len(lessons.features))
    distribution = np.empty((len(fold), len(lessons.seen)), np.float32)
    for out in range(FOLDS):
        predictor = train_predictor(name, lessons.rows(fold != out), rng)
        distribution[fold == out] = predictor.probabilities(lessons.features[fold == out])
    right = lessons.right(distribution)
    selected = np.empty(len(fold), np.float32)
    for out in range(FOLDS):
        selector = train_selector(distribution[fold != out], right[fold != out], rng)
        selected[fold == out] = selector.errors(distribution[fold == out])
    return HeldOutPredictions(distribution, right, {True: selected, False: largest(distribution)})


def folds(count: int) -> NDArray[np.intp]:
    """Runs of neighbours: inputs follow each other in time, and those of one object stay together."""
    return np.arange(count) * (4 * FOLDS) // max(count, 1) % FOLDS
