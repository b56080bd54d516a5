"""How far a variant gives the reference's answers, item by item: pure, on outputs as N × … arrays in the card's order.

A classifier agrees where its best class is the same, an embedder where it finds the same nearest neighbour among the
other items. What a detector's outputs mean is known to the operators, who supply a measure of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from serving.catalogue.cards import Task
from serving.common.tensors import Array

Shares = NDArray[np.float64]
Agree = Callable[[Sequence[Array], Sequence[Array]], Shares]
"""The reference's outputs and another's → for each item 0 … 1, or NaN where there is nothing to compare."""
Right = Callable[[Sequence[Array]], Shares]
"""Outputs → for each item 0 … 1, by how right they are."""


def same_class(reference: Sequence[Array], found: Sequence[Array]) -> Shares:
    """For a classifier's scores: whether the best class is the same."""
    return np.asarray(_best(reference) == _best(found), np.float64)


def same_neighbour(reference: Sequence[Array], found: Sequence[Array]) -> Shares:
    """For an embedder's vectors: whether the most similar other item is the same."""
    return np.asarray(nearest(reference[0]) == nearest(found[0]), np.float64)


def right_class(truth: Sequence[int], outputs: Sequence[Array]) -> Shares:
    """For a classifier's scores: whether the best class is the true one."""
    return np.asarray(_best(outputs) == np.asarray(truth), np.float64)


def right_neighbour(truth: Sequence[int], outputs: Sequence[Array]) -> Shares:
    """For an embedder's vectors: whether the most similar other item is of the same class."""
    classes = np.asarray(truth)
    return np.asarray(classes[nearest(outputs[0])] == classes, np.float64)


AGREE: dict[Task, Agree] = {"classify": same_class, "embed": same_neighbour}
RIGHT: dict[Task, Callable[[Sequence[int], Sequence[Array]], Shares]] = {
    "classify": right_class,
    "embed": right_neighbour,
}
"""Their first argument is the index of each item's true class."""


def mean(shares: Shares) -> float:
    """The mean of those that are known; 0 where none is, since nothing was shown."""
    known = shares[~np.isnan(shares)]
    return float(known.mean()) if len(known) else 0.0


def nearest(vectors: Array) -> NDArray[np.intp]:
    """Index of the most similar other vector (by cosine) of each of N ≥ 2."""
    flat = vectors.reshape(len(vectors), -1).astype(np.float64)
    flat /= np.maximum(np.linalg.norm(flat, axis=1, keepdims=True), 1e-12)
    similar = flat @ flat.T
    np.fill_diagonal(similar, -np.inf)
    found: NDArray[np.intp] = similar.argmax(axis=1)
    return found


def _best(outputs: Sequence[Array]) -> NDArray[np.intp]:
    best: NDArray[np.intp] = outputs[0].reshape(len(outputs[0]), -1).argmax(axis=1)
    return best
