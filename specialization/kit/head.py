"""The last layer: a regression on frozen features, fitted to all crops, and for its figures to all but a fold."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from learning.softmax_regression import fit
from specialization.kit.base import Rows
from specialization.kit.folds import FOLDS, Folds

Labels = NDArray[np.intp]
Head = tuple[Rows, Rows]
"""Weights (F × classes) and bias (classes)."""


def fitted(features: Rows, labels: Labels, outputs: int) -> Head:
    """From N × looks × F features; all classes weigh the same, however many crops they have."""
    looks = features.shape[1]
    shares = (1 / np.bincount(labels, minlength=outputs).clip(1))[labels].astype(np.float32)
    rows = features.reshape(-1, features.shape[2])
    return fit(rows, labels.repeat(looks), shares.repeat(looks), outputs)


def scores(head: Head, features: Rows) -> Rows:
    """N × F → N × classes."""
    weights, bias = head
    found: Rows = features @ weights + bias
    return found


def held_out_scores(features: Rows, labels: Labels, folds: Folds, outputs: int) -> Rows:
    """N × classes: each crop by a head that has learnt from the other folds."""
    found = np.zeros((len(labels), outputs), np.float32)
    for fold in range(FOLDS):
        learnt = folds.learnt(fold)
        found[~learnt] = scores(fitted(features[learnt], labels[learnt], outputs), features[~learnt, 0])
    return found
