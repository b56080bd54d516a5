"""Where a crop is unlike all that was learnt, what is said of it is less sure (``familiarity.py``)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import onnx
from numpy.typing import NDArray

from specialization.kit.base import Rows
from specialization.kit.familiarity import SCALE, USUAL, Familiarity, doubting
from specialization.kit.folds import Folds

FAMILIAR = 2
"""Crops for each feature from which it can be said what is unlike all of them."""

Labels = NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class Doubts:
    """The familiar features, and the distance up to which most right answers lie."""

    familiarity: Familiarity
    limit: float
    unlike: NDArray[np.bool_]
    """The measured crops that lie further from what their folds did not hold."""

    @classmethod
    def of(cls, features: Rows, labels: Labels, folds: Folds, measured: NDArray[np.bool_], said: Labels) -> Doubts:
        """From N × looks × F features; ``said``: the likeliest classes of the measured crops."""
        distances = np.zeros(len(labels), np.float32)
        for fold in np.unique(folds.fold[measured]):
            learnt = folds.learnt(int(fold))
            distances[~learnt] = _familiar(features[learnt], labels[learnt]).distance(features[~learnt, 0])
        mine = distances[measured]
        right = said == labels[measured]
        limit = float(np.quantile(mine[right] if right.any() else mine, USUAL))
        return cls(_familiar(features, labels), limit, mine > limit)

    def applied(self, scores: Rows, other: int | None) -> Rows:
        """Scores of the measured crops as the network with doubts would give them."""
        doubtful = self.unlike & (scores.argmax(axis=1) != (-1 if other is None else other))
        found: Rows = np.where(doubtful[:, None], scores * np.float32(SCALE), scores)
        return found

    def added(self, model: onnx.ModelProto, other: int | None) -> onnx.ModelProto:
        return doubting(model, self.familiarity, self.limit, other)


def _familiar(features: Rows, labels: Labels) -> Familiarity:
    looks = features.shape[1]
    rows = features.reshape(-1, features.shape[2])
    return Familiarity.of(rows, labels.repeat(looks), np.ones(len(rows), np.bool_))
