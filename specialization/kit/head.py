"""The last layer: a regression on frozen features, fitted to all crops, and for its figures to all but a fold.

Folds divide crops so that no camera, or at least no track, is both learnt from and measured on.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from learning.softmax_regression import fit
from specialization.kit.base import Rows
from specialization.kit.crops import CropOrigin

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
    for fold in np.unique(folds.fold).tolist():
        learnt = folds.learnt(fold)
        found[~learnt] = scores(fitted(features[learnt], labels[learnt], outputs), features[~learnt, 0])
    return found


FOLDS, LEAST_FOLDS = 4, 3
"""Three cameras are a fold each; where there are fewer, or so few tracks, none is held out as a whole."""


@dataclass(frozen=True, slots=True)
class Folds:
    """The fold of each crop, below ``FOLDS``, and what is never in two of them: ``camera``, ``track`` or ``run``."""

    fold: NDArray[np.intp]
    unit: str

    def learnt(self, fold: int) -> NDArray[np.bool_]:
        others: NDArray[np.bool_] = self.fold != fold
        return others


def divided(labels: NDArray[np.intp], places: Sequence[CropOrigin]) -> Folds:
    """By camera where every class is seen by several, else by track, else by runs of neighbours in each class."""
    cameras, tracks = [place.camera for place in places], [place.track for place in places]
    tells = all(cameras)
    if tells and (by_camera := _by(cameras, labels)) is not None:
        return Folds(by_camera, "camera")
    if tells and (by_track := _by(tracks, labels)) is not None:
        return Folds(by_track, "track")
    return Folds(_runs(labels), "run")


def _by(keys: Sequence[Hashable], labels: NDArray[np.intp]) -> NDArray[np.intp] | None:
    """Groups as even as may be, the largest first; None where a fold would take a class away from the others."""
    numbers = {key: number for number, key in enumerate(dict.fromkeys(keys))}
    groups = np.array([numbers[key] for key in keys])
    counts = np.zeros((len(numbers), int(labels.max()) + 1))
    np.add.at(counts, (groups, labels), 1 / np.bincount(labels)[labels])
    home, filled = np.zeros(len(numbers), np.intp), np.zeros((FOLDS, counts.shape[1]))
    for group in np.argsort(-counts.sum(axis=1), kind="stable"):
        home[group] = int(((filled + counts[group]) ** 2).sum(axis=1).argmin())
        filled[home[group]] += counts[group]
    everywhere = ((filled > 0).sum(axis=0) > 1).all()
    return home[groups] if everywhere and len(np.unique(home)) >= LEAST_FOLDS else None


def _runs(labels: NDArray[np.intp]) -> NDArray[np.intp]:
    fold = np.zeros(len(labels), np.intp)
    for label in np.unique(labels):
        mine = np.flatnonzero(labels == label)
        fold[mine] = np.arange(len(mine)) * FOLDS // len(mine)
    return fold
