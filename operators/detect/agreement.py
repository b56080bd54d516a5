"""Measures how far two detectors agree: F1 of boxes that overlap by half or more and have the same label."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from operators.detect.decoding import Detections, decode, one_per_place
from serving.catalogue.cards import ModelCard
from serving.profiling.agreement import Agree, Shares

SAME_OBJECT = 0.5
"""Least overlap (intersection over union) of two boxes of the same thing."""


def same_objects(card: ModelCard) -> Agree:
    """The measure of agreement for detectors of this card, whose outputs it decodes; raises ModelError when called."""

    def agree(reference: Sequence[NDArray[Any]], found: Sequence[NDArray[Any]]) -> Shares:
        pairs = zip(decode(card, reference), decode(card, found), strict=True)
        return np.array([f1(one_per_place(wanted), one_per_place(got)) for wanted, got in pairs])

    return agree


def f1(wanted: Detections, found: Detections) -> float:
    """Harmonic mean of precision and recall, 0 … 1; two images in which nothing was found agree.

    Boxes are matched one to one: the highest score first takes the one it overlaps most.
    """
    if not len(wanted) and not len(found):
        return 1.0
    overlaps = np.where(found.classes[:, None] == wanted.classes, iou(found.boxes, wanted.boxes), 0.0)
    matches = 0
    for index in np.argsort(-found.scores, kind="stable"):
        best = int(overlaps[index].argmax()) if len(wanted) else 0
        if len(wanted) and overlaps[index, best] >= SAME_OBJECT:
            overlaps[:, best] = 0.0
            matches += 1
    return 2 * matches / (len(wanted) + len(found))


def iou(boxes: NDArray[Any], others: NDArray[Any]) -> NDArray[np.float64]:
    """K × 4 and L × 4 corners → K × L shares of intersection in union."""
    a, b = boxes[:, None].astype(np.float64), others[None].astype(np.float64)
    sides = np.minimum(a[..., 2:], b[..., 2:]) - np.maximum(a[..., :2], b[..., :2])
    common = np.clip(sides, 0.0, None).prod(axis=-1)
    union = (a[..., 2:] - a[..., :2]).prod(axis=-1) + (b[..., 2:] - b[..., :2]).prod(axis=-1) - common
    shares: NDArray[np.float64] = np.divide(common, union, out=np.zeros_like(common), where=union > 0)
    return shares
