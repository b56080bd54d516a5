"""Turns a detector's raw outputs into boxes: which cells found something, and where.

Pure: arrays and the card's parameters in, boxes in pixels of the network's input out.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import ceil

import numpy as np
from numpy.typing import NDArray

from operators.detect.centerface import centerface
from operators.detect.detections import Detections, distinct, likely
from operators.detect.ssd import ssd
from serving.catalogue.cards import ModelCard
from serving.catalogue.decodings import BoxesDecoding, CenterFaceDecoding, Decoding, YoloDecoding, YoloxDecoding
from serving.common.tensors import Array, numbers
from serving.errors import ModelError

GRIDS = 8
"""Number of networks' grids that are kept: to make one takes as long as to decode the rest of a frame."""


def decode(card: ModelCard, outputs: Sequence[Array], min_score: float | None = None) -> list[Detections]:
    """Decode a batch's outputs as the card says, one entry per item; raises ModelError where they do not fit it."""
    return each_once(card, candidates(card, outputs, min_score))


def candidates(card: ModelCard, outputs: Sequence[Array], min_score: float | None = None) -> list[Detections]:
    """Read all boxes that are sure enough, things found twice included; raises ModelError as ``decode`` does.

    An absurd place or size becomes infinite or no number: its box is dropped as unsound.
    """
    rule = card.decoding
    if rule is None:
        raise ModelError(f"model {card.name!r} is not a detector: its card has no 'decoding'")
    threshold = rule.min_score if min_score is None else min_score
    with np.errstate(over="ignore", invalid="ignore"):
        return [_read(card, rule, item, threshold) for item in zip(*outputs, strict=True)]


def _read(card: ModelCard, rule: Decoding, item: Sequence[Array], threshold: float) -> Detections:
    if isinstance(rule, YoloxDecoding):
        return _yolox(card, rule, item, threshold)
    if isinstance(rule, YoloDecoding):
        return _yolo(card, rule, item, threshold)
    if isinstance(rule, CenterFaceDecoding):
        return centerface(card, rule, item, threshold)
    if isinstance(rule, BoxesDecoding):
        return _boxes(card, item, threshold)
    return ssd(card, rule, item, threshold)


def each_once(card: ModelCard, found: Sequence[Detections]) -> list[Detections]:
    """Keep each thing once, as the card says; takes milliseconds for a thousand boxes."""
    for each in found:
        if len(each) and np.isnan(each.boxes).any(axis=1).all():
            numbers(card.name, each.boxes)
    return [distinct(each, None if card.decoding is None else card.decoding.nms_iou) for each in found]


def _yolox(card: ModelCard, rule: YoloxDecoding, item: Sequence[Array], threshold: float) -> Detections:
    """Ge et al. (2021), §2.1: one box per grid cell, centre relative to the cell, size as a power of e, in strides."""
    (rows,) = _exactly(card, item, 1)
    cells, strides = _grid(card.input.width, card.input.height, rule.strides)
    if rows.shape != (len(cells), 5 + len(card.classes)):
        wanted = f"{len(cells)} × {5 + len(card.classes)}"
        given = " × ".join(map(str, rows.shape))
        raise ModelError(f"model {card.name!r} says {given}, its strides and classes mean {wanted}: check its card")
    sure = likely(card.name, rows[:, 4], threshold)  # no class score exceeds 1, so nothing else can reach it
    rows, cells, strides = rows[sure], cells[sure], strides[sure, None]
    scores = rows[:, 4] * rows[:, 5:].max(axis=1, initial=0.0)
    centre, half = (rows[:, :2] + cells) * strides, np.exp(rows[:, 2:4]) * strides / 2
    found = Detections(np.hstack([centre - half, centre + half]), scores, rows[:, 5:].argmax(axis=1))
    return found[likely(card.name, scores, threshold)]


@lru_cache(maxsize=GRIDS)
def _grid(width: int, height: int, strides: tuple[int, ...]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Column and row of every cell, row by row, finest stride first; and each cell's stride. Not to be written to."""
    cells = []
    for stride in strides:
        rows, columns = np.mgrid[: ceil(height / stride), : ceil(width / stride)]
        cells.append(np.column_stack([columns.ravel(), rows.ravel()]).astype(np.float32))
    return np.vstack(cells), np.repeat(np.asarray(strides, np.float32), [len(each) for each in cells])


def _exactly(card: ModelCard, item: Sequence[Array], count: int) -> Sequence[Array]:
    if len(item) != count:
        raise ModelError(
            f"model {card.name!r} has {len(item)} outputs, this decoding takes {count}: name it in 'outputs'"
        )
    return item


POINTS = 5


def _boxes(card: ModelCard, item: Sequence[Array], threshold: float) -> Detections:
    """Boxes that have been decoded already, such as those of a backend on another machine."""
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


def _yolo(card: ModelCard, rule: YoloDecoding, item: Sequence[Array], threshold: float) -> Detections:
    """Most exports of YOLO detectors: a row of values for each candidate (Redmon and Farhadi, 2018).

    A row is the centre and the size of a box in pixels of the input, with ``objectness`` how sure it is that there is a
    thing, and a score for each class. Some exports write the rows as columns.
    """
    rows = _rows(card, rule, item)
    scores = rows[:, 5:] * rows[:, 4:5] if rule.objectness else rows[:, 4:]
    best = scores.max(axis=1, initial=0.0)
    found = likely(card.name, best, threshold)
    boxes = rows[found, :4].astype(np.float32)
    centre, half = boxes[:, :2], boxes[:, 2:] / 2
    return Detections(np.hstack([centre - half, centre + half]), best[found], scores[found].argmax(axis=1))


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
