"""Decodes boxes that have been decoded already, such as those of a backend on another machine. Pure."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from operators.detect.detections import Detections, likely
from serving.catalogue.cards import ModelCard
from serving.common.tensors import Array, numbers
from serving.errors import ModelError

POINTS = 5


def boxes(card: ModelCard, item: Sequence[Array], threshold: float) -> Detections:
    """Return what is in one image, things found twice included; raises ModelError where the outputs do not fit."""
    _check(card, item)
    corners, scores, classes, count, *landmarks = item
    places = likely(card.name, scores[: int(count)], threshold)
    found = numbers(card.name, classes[places]).astype(np.intp)
    if ((found < 0) | (found >= len(card.classes))).any():
        raise ModelError(f"model {card.name!r} says a class that is none of its card's {len(card.classes)}")
    points = landmarks[0][places].astype(np.float32, copy=False) if landmarks else None
    return Detections(corners[places].astype(np.float32, copy=False), scores[places], found, points)


def _check(card: ModelCard, item: Sequence[Array]) -> None:
    rows = len(item[0]) if item and item[0].ndim == 2 else -1
    wanted: list[tuple[int, ...]] = [(rows, 4), (rows,), (rows,), (), (rows, POINTS, 2)]
    shapes = [each.shape for each in item]
    if rows >= 0 and shapes in (wanted[:4], wanted) and 0 <= item[3] <= rows:  # which a number that is none is not
        return
    given = ", ".join(" × ".join(map(str, shape)) or "a number" for shape in shapes)
    raise ModelError(
        f"model {card.name!r} says {given or 'nothing'}; this decoding takes boxes K × 4, scores K, classes K, their "
        "number up to K and, perhaps, landmarks K × 5 × 2: check 'outputs' in its card"
    )
