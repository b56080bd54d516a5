"""A detector's answers as they travel: the boxes of N pictures as arrays. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from serving.catalogue.cards import ModelCard
from serving.common.tensors import Array, TensorSpec
from serving.remote.protocol.wire_card import BOXES, LANDMARKS, has_landmarks

POINTS = 5
FLOAT, INDEX = np.dtype(np.float32), np.dtype(np.int32)


class FoundBoxes(Protocol):
    """The boxes found in one picture, in pixels of the network's input."""

    @property
    def boxes(self) -> NDArray[np.float32]:
        """K × 4."""

    @property
    def scores(self) -> NDArray[np.float32]:
        """One for each box."""

    @property
    def classes(self) -> NDArray[np.intp]:
        """Indices of the card's classes."""

    @property
    def landmarks(self) -> NDArray[np.float32] | None:
        """K × 5 × 2, where the detector tells them."""


BoxReader = Callable[[ModelCard, Sequence[Array], float | None], Sequence[FoundBoxes]]
"""Decodes a detector's raw outputs, one entry for each picture; ModelError where they do not fit the card:
``operators.detect.decoding.decode``."""


def box_specs(card: ModelCard) -> dict[str, TensorSpec]:
    """The outputs of a detector, as they travel."""
    boxes, scores, classes, counts = BOXES
    specs = {
        boxes: TensorSpec(FLOAT, (None, None, 4)),
        scores: TensorSpec(FLOAT, (None, None)),
        classes: TensorSpec(INDEX, (None, None)),
        counts: TensorSpec(INDEX, (None,)),
    }
    return specs | ({LANDMARKS: TensorSpec(FLOAT, (None, None, POINTS, 2))} if has_landmarks(card) else {})


def packed(card: ModelCard, found: Sequence[FoundBoxes]) -> dict[str, Array]:
    """The boxes of N pictures as arrays, with rows of zeros behind those of the pictures that have fewer."""
    counts = np.array([len(each.scores) for each in found], INDEX)
    most = int(counts.max(initial=0))
    arrays: dict[str, Array] = {}
    for name, spec in box_specs(card).items():
        shape = [len(found), *(most if dim is None else dim for dim in spec.shape[1:])]
        arrays[name] = np.zeros(shape, spec.dtype)
    boxes, scores, classes, total = BOXES
    arrays[total] = counts
    for row, (each, count) in enumerate(zip(found, counts, strict=True)):
        arrays[boxes][row, :count] = each.boxes
        arrays[scores][row, :count] = each.scores
        arrays[classes][row, :count] = each.classes
        if LANDMARKS in arrays and each.landmarks is not None:
            arrays[LANDMARKS][row, :count] = each.landmarks
    return arrays
