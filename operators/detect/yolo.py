"""Decodes what most exports of YOLO detectors say: a row of values for each candidate (Redmon and Farhadi, 2018). Pure.

A row is the centre and the size of a box in pixels of the input, with ``objectness`` how sure it is that there is a
thing, and a score for each class. Some exports write the rows as columns.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from operators.detect.detections import Detections, likely
from serving.catalogue.cards import ModelCard
from serving.catalogue.decodings import YoloDecoding
from serving.common.tensors import Array
from serving.errors import ModelError


def yolo(card: ModelCard, rule: YoloDecoding, item: Sequence[Array], threshold: float) -> Detections:
    """Return what is in one image, things found twice included; raises ModelError where the outputs do not fit."""
    rows = _rows(card, rule, item)
    scores = rows[:, 5:] * rows[:, 4:5] if rule.objectness else rows[:, 4:]
    best = scores.max(axis=1, initial=0.0)
    found = likely(card.name, best, threshold)
    centre, half = rows[found, :2], rows[found, 2:4] / 2
    boxes = np.hstack([centre - half, centre + half]).astype(np.float32)
    return Detections(boxes, best[found], scores[found].argmax(axis=1))


def _rows(card: ModelCard, rule: YoloDecoding, item: Sequence[Array]) -> Array:
    """K × values, whichever way they are written."""
    values = 4 + rule.objectness + len(card.classes)
    if len(item) == 1 and item[0].ndim == 2:
        if item[0].shape[1] == values:
            return item[0]
        if item[0].shape[0] == values:
            return item[0].T
    given = ", ".join(" × ".join(map(str, each.shape)) for each in item)
    raise ModelError(
        f"model {card.name!r} says {given or 'nothing'}; its classes mean rows of {values} values: "
        "check 'classes', 'objectness' and 'outputs' in its card"
    )
