"""Turns a detector's raw outputs into boxes: which cells found something, and where.

Pure: arrays and the card's parameters in, boxes in pixels of the network's input out.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from operators.detect.boxes import boxes
from operators.detect.centerface import centerface
from operators.detect.detections import Detections, distinct, likely
from operators.detect.ssd import ssd
from operators.detect.yolo import yolo
from serving.catalogue.cards import ModelCard
from serving.catalogue.decodings import BoxesDecoding, CenterFaceDecoding, YoloDecoding, YoloxDecoding
from serving.common.tensors import Array, numbers
from serving.errors import ModelError

GRIDS = 8
"""Number of networks' grids that are kept: to make one takes as long as to decode the rest of a frame."""


def decode(card: ModelCard, outputs: Sequence[Array], min_score: float | None = None) -> list[Detections]:
    """Decode a batch's outputs as the card says, one entry per item; raises ModelError where they do not fit it."""
    return each_once(card, candidates(card, outputs, min_score))


def candidates(card: ModelCard, outputs: Sequence[Array], min_score: float | None = None) -> list[Detections]:
    """Read all boxes that are sure enough, things found twice included; raises ModelError as ``decode`` does."""
    rule = card.decoding
    if rule is None:
        raise ModelError(f"model {card.name!r} is not a detector: its card has no 'decoding'")
    threshold = rule.min_score if min_score is None else min_score
    per_item = zip(*outputs, strict=True)
    if isinstance(rule, YoloxDecoding):
        return [_yolox(card, rule, item, threshold) for item in per_item]
    if isinstance(rule, YoloDecoding):
        return [yolo(card, rule, item, threshold) for item in per_item]
    if isinstance(rule, CenterFaceDecoding):
        return [centerface(card, rule, item, threshold) for item in per_item]
    if isinstance(rule, BoxesDecoding):
        return [boxes(card, item, threshold) for item in per_item]
    return [ssd(card, rule, item, threshold) for item in per_item]


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
    with np.errstate(over="ignore"):  # an absurd size becomes infinite, and the box is dropped as unsound
        centre, half = (rows[:, :2] + cells) * strides, np.exp(rows[:, 2:4]) * strides / 2
    found = Detections(np.hstack([centre - half, centre + half]), scores, rows[:, 5:].argmax(axis=1))
    return found[likely(card.name, scores, threshold)]


@lru_cache(maxsize=GRIDS)
def _grid(width: int, height: int, strides: tuple[int, ...]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Column and row of every cell, row by row, finest stride first; and each cell's stride. Not to be written to."""
    cells = []
    for stride in strides:
        rows, columns = np.mgrid[: height // stride, : width // stride]
        cells.append(np.column_stack([columns.ravel(), rows.ravel()]).astype(np.float32))
    return np.vstack(cells), np.repeat(np.asarray(strides, np.float32), [len(each) for each in cells])


def _exactly(card: ModelCard, item: Sequence[Array], count: int) -> Sequence[Array]:
    if len(item) != count:
        raise ModelError(
            f"model {card.name!r} has {len(item)} outputs, this decoding takes {count}: name it in 'outputs'"
        )
    return item
