"""Heads on a compact network: a few dominant classes and "other" (Shen, 2019, §5.2), and how well they do (eq. 5.1).

The dominant classes make up a fixed share of what is trained on, the training skew, whatever the stream's skew is; the
others are drawn equally often from every other class. For a few numbers n of dominant classes some sets of n classes
are drawn, a head is trained for each and validated on rows that it was not trained on; the mean over the draws stands
for all heads of this size.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, islice
from math import comb
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from learning.calibration import least_confidence
from learning.softmax_regression import fit
from serving.common.tensors import softmax
from serving.errors import SluiceError
from specialization.rates import Rates, rates_of

OTHER = -1
"""A head's answer where it sees no class of its own, or is not sure."""
LEAST_ROWS, LEAST_OTHERS = 12, 30
"""The fewest rows of every dominant class, and of all other classes together."""
FOLDS = 4
JUDGED_SKEW, TRAINING_SKEW = 0.8, 0.6
MOST_ROWS, MOST_VALUES = 6000, 1_500_000
"""The most that one head is trained on: they bound the time."""
LADDER = (1, 2, 3, 5, 8, 10, 15, 20)
NEVER = Rates(a_in=0.0, e_in_out=1.0, a_out=1.0)
"""A head that always says "other"."""

Weights = NDArray[np.float32]


@dataclass(frozen=True)
class SpecialisedHead:
    """Multinomial logistic regression for n classes and "other", with standardisation folded in."""

    classes: tuple[int, ...]
    weights: Weights
    """D × (n + 1), the last column for "other"."""
    bias: Weights
    """n + 1."""
    least_confidence: float
    """Below it the head says "other"."""

    def decide(self, features: NDArray[Any]) -> NDArray[np.intp]:
        """A class or ``OTHER`` for each of N × D features."""
        likely = _probabilities(features, self.weights, self.bias)[:, :-1]
        best = likely.argmax(axis=1)
        sure = likely[np.arange(len(best)), best] >= self.least_confidence
        return np.where(sure, np.array(self.classes)[best], OTHER)


@dataclass(frozen=True)
class StoredFeatures:
    """The compact network's features of pictures, and what the oracle says of them."""

    features: NDArray[np.float16]
    """N × D."""
    labels: NDArray[np.int32]
    """N."""


@dataclass(frozen=True)
class _Rows:
    """The rows a head is trained on: n classes numbered 0 … n − 1, n is "other"."""

    features: NDArray[np.float32]
    targets: NDArray[np.intp]
    folds: NDArray[np.intp]
    """Rows of one fold are validated by a head trained on the other folds."""
    outputs: int

    def weights(self, skew: float) -> Weights:
        """With which rows of dominant classes make up the skew."""
        inside = self.targets < self.outputs - 1
        return np.asarray(np.where(inside, skew / inside.sum(), (1 - skew) / (~inside).sum()), np.float32)


@dataclass(frozen=True)
class _Held:
    """The answers of heads on rows that they were not trained on."""

    confidence: Weights
    right: NDArray[np.bool_]
    dominant: NDArray[np.bool_]
    weights: Weights

    def threshold(self, tolerance: float) -> float | None:
        return least_confidence(self.confidence, self.right, tolerance, self.weights)

    def rates(self, tolerance: float) -> Rates:
        threshold = self.threshold(tolerance)
        if threshold is None:
            return NEVER
        return rates_of(self.confidence >= threshold, self.right, self.dominant, self.weights)


def train_head(
    store: StoredFeatures, classes: Sequence[int], skew: float, tolerance: float, rng: Generator
) -> SpecialisedHead:
    """At most ``tolerance`` of its answers are wrong; SluiceError where there can be no such head."""
    rows = _drawn_rows(store, classes, skew, rng)
    with threadpool_limits(1, user_api="blas"):
        threshold = _validated(rows, skew).threshold(tolerance)
        if threshold is None:
            raise SluiceError(f"no head for {len(classes)} classes: too many of its answers are wrong")
        weights, bias = fit(rows.features, rows.targets, rows.weights(skew), rows.outputs)
    return SpecialisedHead(tuple(classes), weights, bias, threshold)


def head_rates(store: StoredFeatures, tolerance: float, rng: Generator, draws: int) -> Mapping[int, Rates]:
    """The rates of heads by the number n of their classes."""
    known, counts = np.unique(store.labels, return_counts=True)
    possible = known[counts >= LEAST_ROWS].tolist()
    found: dict[int, Rates] = {}
    with threadpool_limits(1, user_api="blas"):
        for n in _ladder(len(known), len(possible)):
            sets = [each for each in _sets(possible, n, draws, rng) if _others(store, each) >= LEAST_OTHERS]
            rows = [_drawn_rows(store, each, TRAINING_SKEW, rng) for each in sets]
            judged = [_validated(each, TRAINING_SKEW).rates(tolerance) for each in rows]
            if judged:
                figures = [(each.a_in, each.e_in_out, each.a_out) for each in judged]
                found[n] = Rates(*np.mean(figures, axis=0).tolist())
    return found


def _drawn_rows(store: StoredFeatures, classes: Sequence[int], skew: float, rng: Generator) -> _Rows:
    others = np.setdiff1d(np.unique(store.labels), classes)
    if min((store.labels == each).sum() for each in classes) < LEAST_ROWS or _others(store, classes) < LEAST_OTHERS:
        raise SluiceError("there are too few samples for a head")
    most = min(MOST_ROWS, MOST_VALUES // store.features.shape[1])
    groups = [
        *_drawn(store, classes, int(most * skew), rng),
        *_drawn(store, others.tolist(), int(most * (1 - skew)), rng),
    ]
    rows, n = np.concatenate(groups), len(classes)
    number = {each: place for place, each in enumerate(classes)}
    targets = np.array([number.get(label, n) for label in store.labels[rows].tolist()])
    folds = [np.arange(len(group)) * FOLDS // len(group) for group in groups]
    return _Rows(store.features[rows].astype(np.float32), targets, np.concatenate(folds), n + 1)


def _drawn(store: StoredFeatures, classes: Sequence[int], most: int, rng: Generator) -> list[NDArray[np.intp]]:
    """Equally many rows of every class, in their order, or all of a class that has fewer."""
    each, groups = max(most // len(classes), 1), [np.flatnonzero(store.labels == label) for label in classes]
    return [np.sort(rng.choice(rows, each, replace=False)) if len(rows) > each else rows for rows in groups]


def _validated(rows: _Rows, skew: float) -> _Held:
    said, confidence = np.empty(len(rows.targets), np.intp), np.empty(len(rows.targets), np.float32)
    weights = rows.weights(skew)
    for fold in range(FOLDS):
        out, kept = rows.folds == fold, rows.folds != fold
        head = fit(rows.features[kept], rows.targets[kept], weights[kept], rows.outputs)
        likely = _probabilities(rows.features[out], *head)[:, :-1]
        said[out], confidence[out] = likely.argmax(axis=1), likely.max(axis=1)
    dominant = rows.targets < rows.outputs - 1
    return _Held(confidence, said == rows.targets, dominant, rows.weights(JUDGED_SKEW))


def _probabilities(features: NDArray[Any], weights: Weights, bias: Weights) -> Weights:
    return softmax(features.astype(np.float32) @ weights + bias)


def _others(store: StoredFeatures, classes: Sequence[int]) -> int:
    return int((~np.isin(store.labels, classes)).sum())


def _ladder(known: int, possible: int) -> list[int]:
    most = min(known - 1, possible, LADDER[-1])
    return sorted({n for n in LADDER if n <= most} | ({most} if most > 0 else set()))


def _sets(classes: Sequence[int], n: int, draws: int, rng: Generator) -> list[tuple[int, ...]]:
    """Different sets of n classes, all there are where these are no more than wanted."""
    if comb(len(classes), n) <= draws:
        return list(combinations(classes, n))
    found: dict[tuple[int, ...], None] = {}
    while len(found) < draws:
        found[tuple(sorted(rng.choice(classes, n, replace=False).tolist()))] = None
    return list(islice(found, draws))
