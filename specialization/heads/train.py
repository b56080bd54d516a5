"""Trains a head for a few dominant classes and "other", and validates it on rows that it was not trained on.

The dominant classes make up a fixed share of what is trained on, the training skew, whatever the stream's skew is; the
others are drawn equally often from every other class (Shen, 2019, §5.2). Where there are rows of the stream itself
besides a training set, they weigh as much as that set: no set of pictures looks like a certain camera's view.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from learning.confidence_threshold import HeldOutAnswers, least_confidence
from learning.softmax_regression import fit
from serving.errors import SluiceError
from specialization.heads.enough import LEAST_OTHERS, LEAST_ROWS
from specialization.heads.head import SpecialisedHead, probabilities
from specialization.rates import rates

FOLDS = 4
JUDGED_SKEW = 0.8
"""The stream that a head is judged for: with fewer dominant inputs than this it is hardly worth having."""
MOST_ROWS, MOST_VALUES = 6000, 1_500_000
"""The most that one head is trained on: they bound the time."""


class TooFewSamples(SluiceError):
    """There are not enough rows to train and validate a head for these classes."""


class NoUsefulHead(SluiceError):
    """A head was trained, but wherever its threshold is put, too many of its answers are wrong."""


@dataclass(frozen=True, slots=True)
class TrainingRows:
    """The rows a head is trained on: n classes numbered 0 … n − 1, n is "other"."""

    features: NDArray[np.float32]
    """N × D."""
    targets: NDArray[np.intp]
    weights: NDArray[np.float32]
    """Row weights; they sum to 1, those of dominant classes to the training skew."""
    folds: NDArray[np.intp]
    """Rows of one fold are validated by a head trained on the other folds."""
    own: NDArray[np.bool_]
    """Whether each row is the stream's own."""
    outputs: int


@dataclass(frozen=True, slots=True)
class HeadSamples:
    """The rows from which heads are trained."""

    features: NDArray[Any]
    """N × D."""
    labels: NDArray[Any]
    """N."""
    own: int = 0
    """The last so many are the stream's own."""


def train_head(
    samples: HeadSamples, classes: Sequence[int], training_skew: float, tolerance: float, rng: Generator
) -> SpecialisedHead:
    """Train a head for ``classes``; at most ``tolerance`` of its answers are wrong.

    Raises TooFewSamples where a class has too few rows, NoUsefulHead where no head is right often enough.
    """
    training = training_rows(samples, classes, training_skew, rng)
    with one_thread():
        return _trained(training, tuple(classes), tolerance)


def _trained(training: TrainingRows, classes: tuple[int, ...], tolerance: float) -> SpecialisedHead:
    held = validate(training)
    threshold = least_confidence(held, tolerance)
    if threshold is None:
        raise NoUsefulHead(
            f"no head for {len(classes)} classes: of its answers on rows it was not trained on, more than "
            f"{tolerance:.1%} may be wrong; more samples may help"
        )
    weights, bias = fit(training.features, training.targets, training.weights, training.outputs)
    return SpecialisedHead(classes, weights, bias, threshold, rates(held, threshold))


@contextmanager
def one_thread() -> Iterator[None]:
    """Let the process multiply matrices in one thread: those of a head are too small for more."""
    with threadpool_limits(1, user_api="blas"):
        yield


def training_rows(samples: HeadSamples, classes: Sequence[int], training_skew: float, rng: Generator) -> TrainingRows:
    """Draw the rows to train on; raises TooFewSamples."""
    features, labels = samples.features, samples.labels
    others = np.setdiff1d(np.unique(labels), classes)
    _check(labels, classes, others)
    mine = np.arange(len(labels)) >= len(labels) - samples.own
    most = min(MOST_ROWS, MOST_VALUES // features.shape[1])
    drawn = [
        *_drawn(_groups(labels, mine, classes), int(most * training_skew), rng),
        *_drawn(_groups(labels, mine, others.tolist()), int(most * (1 - training_skew)), rng),
    ]
    rows, n = np.concatenate(drawn), len(classes)
    number = {each: place for place, each in enumerate(classes)}
    targets = np.array([number.get(label, n) for label in labels[rows].tolist()])
    return TrainingRows(
        features[rows].astype(np.float32),
        targets,
        _weights(targets < n, mine[rows], training_skew),
        np.concatenate([_folds(len(group)) for group in drawn]),
        mine[rows],
        n + 1,
    )


def validate(training: TrainingRows) -> HeldOutAnswers:
    """The answers of heads on rows that they were not trained on, for all rows."""
    said = np.empty(len(training.targets), np.intp)
    confidence = np.empty(len(training.targets), np.float32)
    for fold in range(FOLDS):
        out, kept = training.folds == fold, training.folds != fold
        head = fit(training.features[kept], training.targets[kept], training.weights[kept], training.outputs)
        likely = probabilities(training.features[out], *head)[:, :-1]
        said[out], confidence[out] = likely.argmax(axis=1), likely.max(axis=1)
    dominant = training.outputs - 1
    weights = _weights(training.targets < dominant, training.own, JUDGED_SKEW)
    return HeldOutAnswers(said, confidence, training.targets, weights, dominant)


def _groups(labels: NDArray[Any], mine: NDArray[np.bool_], classes: Sequence[int]) -> list[NDArray[np.intp]]:
    """The rows of every class, the stream's own apart, in their order."""
    groups = [np.flatnonzero((labels == each) & (mine == own)) for each in classes for own in (False, True)]
    return [rows for rows in groups if len(rows)]


def _drawn(groups: Sequence[NDArray[np.intp]], most: int, rng: Generator) -> list[NDArray[np.intp]]:
    """Draw equally many rows of every class, in their order, or all of a class that has fewer."""
    each = max(most // len(groups), 1)
    return [np.sort(rng.choice(rows, each, replace=False)) if len(rows) > each else rows for rows in groups]


def _weights(inside: NDArray[np.bool_], mine: NDArray[np.bool_], skew: float) -> NDArray[np.float32]:
    """Row weights with which rows of dominant classes make up the skew.

    Own rows make up one half of each part, if there are enough of them.
    """
    weights = np.empty(len(inside), np.float32)
    for part, share in ((inside, skew), (~inside, 1 - skew)):
        kinds = [part & mine, part & ~mine]
        if min(kind.sum() for kind in kinds) < LEAST_ROWS:
            kinds = [part]
        for kind in kinds:
            weights[kind] = share / len(kinds) / kind.sum()
    return weights


def _folds(size: int) -> NDArray[np.intp]:
    """Runs of neighbours: rows follow each other in time, and those of one object must not be on both sides."""
    return np.arange(size) * FOLDS // size


def _check(labels: NDArray[Any], classes: Sequence[int], others: NDArray[Any]) -> None:
    for each in classes:
        if (count := int((labels == each).sum())) < LEAST_ROWS:
            raise TooFewSamples(f"class {each} has {count} samples; a head needs {LEAST_ROWS} of every class")
    if (count := int(np.isin(labels, others).sum())) < LEAST_OTHERS:
        raise TooFewSamples(f"there are {count} samples of other classes; a head needs {LEAST_OTHERS}")
