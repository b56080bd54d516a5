"""Turns a detector's raw outputs into boxes: which cells found something, where, and which found it twice.

Pure: arrays and the card's parameters in, boxes in pixels of the network's input out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from serving.catalogue.cards import ImageInput, ModelCard, SsdDecoding, YoloxDecoding
from serving.errors import ModelError

Array = NDArray[Any]

MAX_CANDIDATES = 1000
"""Number of boxes with the highest scores that are compared; suppression compares all pairs."""

GRIDS = 8
"""Number of networks' grids that are kept: one takes half as long to make as a frame to decode."""

SAME_PLACE = 0.8
"""Overlap above which two boxes are the same thing, whatever their classes."""
CONFUSED = (frozenset({"car", "truck", "bus", "train"}), frozenset({"bicycle", "motorcycle"}))
"""Classes that detectors say of one thing at once, in boxes that lie less exactly on each other."""
SAME_CONFUSED = 0.6
"""Overlap above which two boxes of such classes are the same thing."""
RIDER, RIDDEN = "person", ("bicycle", "motorcycle", "horse")
"""Two things that are seen as one where they come straight towards the camera."""


@dataclass(frozen=True, slots=True)
class Detections:
    """The boxes found in one image, a struct of arrays, highest score first."""

    boxes: NDArray[np.float32]
    """K × 4: left, top, right, bottom in pixels of the network's input."""
    scores: NDArray[np.float32]
    classes: NDArray[np.intp]
    """Indices into the card's classes."""

    def __len__(self) -> int:
        return len(self.scores)

    def __getitem__(self, keep: Array) -> Detections:
        return Detections(self.boxes[keep], self.scores[keep], self.classes[keep])


def decode(card: ModelCard, outputs: Sequence[Array], min_score: float | None = None) -> list[Detections]:
    """Decode a batch's outputs as the card says, one entry per item; raises ModelError where they do not fit it."""
    rule = card.decoding
    if rule is None:
        raise ModelError(f"model {card.name!r} is not a detector: its card has no 'decoding'")
    threshold = rule.min_score if min_score is None else min_score
    per_item = zip(*outputs, strict=True)
    if isinstance(rule, YoloxDecoding):
        return [_settle(_yolox(card, rule, item, threshold), rule.nms_iou) for item in per_item]
    return [_settle(_ssd(card, rule, item, threshold), rule.nms_iou) for item in per_item]


def suppress(found: Detections, iou: float) -> Detections:
    """Per class, drop every box that overlaps a higher-scored kept one by more than ``iou`` (greedy NMS)."""
    corners = found.boxes.astype(np.float64)
    rects = np.column_stack([corners[:, :2], corners[:, 2:] - corners[:, :2]])
    kept = cv2.dnn.NMSBoxesBatched(rects.tolist(), found.scores.tolist(), found.classes.tolist(), -1.0, iou)
    return found[np.asarray(kept, np.intp).reshape(-1)]


def one_per_place(found: Detections, classes: Sequence[str]) -> Detections:
    """Keep the best of boxes that nearly coincide, though their classes differ: a thing is not both car and truck.

    ``found``: highest score first; ``classes``: the card's. A rider and what is ridden stay two. To be called when
    unwanted classes are gone, so that none of them hides a wanted one.
    """
    if len(found) < 2:
        return found
    names = [classes[index] for index in found.classes]
    same = overlaps(found.boxes, found.boxes) > _limits(names)
    kept: list[int] = []
    for index in range(len(found)):
        if not same[index, kept].any():
            kept.append(index)
    return found[np.asarray(kept, np.intp)]


def _limits(names: Sequence[str]) -> NDArray[np.float64]:
    """K classes → K × K: the overlap above which two boxes are the same thing."""
    limits = np.full((len(names), len(names)), SAME_PLACE)
    other = np.not_equal.outer(names, names)
    for group in CONFUSED:
        confused = np.array([name in group for name in names])
        limits[np.logical_and.outer(confused, confused) & other] = SAME_CONFUSED
    rider, ridden = (np.array([name in each for name in names]) for each in ((RIDER,), RIDDEN))
    limits[np.logical_and.outer(rider, ridden) | np.logical_and.outer(ridden, rider)] = np.inf
    return limits


def overlaps(boxes: NDArray[Any], others: NDArray[Any]) -> NDArray[np.float64]:
    """K × 4 and L × 4 corners → K × L shares of intersection in union."""
    a, b = boxes[:, None].astype(np.float64), others[None].astype(np.float64)
    sides = np.minimum(a[..., 2:], b[..., 2:]) - np.maximum(a[..., :2], b[..., :2])
    common = np.clip(sides, 0.0, None).prod(axis=-1)
    union = (a[..., 2:] - a[..., :2]).prod(axis=-1) + (b[..., 2:] - b[..., :2]).prod(axis=-1) - common
    shares: NDArray[np.float64] = np.divide(common, union, out=np.zeros_like(common), where=union > 0)
    return shares


def _settle(found: Detections, iou: float | None) -> Detections:
    """Select the sound boxes of the best candidates, each thing once, highest score first."""
    sound = np.isfinite(found.boxes).all(axis=1) & (found.boxes[:, :2] < found.boxes[:, 2:]).all(axis=1)
    found = found[np.asarray(sound)]
    found = found[np.argsort(-found.scores, kind="stable")[:MAX_CANDIDATES]]
    if iou is None or not len(found):
        return found
    kept = suppress(found, iou)
    return kept[np.argsort(-kept.scores, kind="stable")]


def _yolox(card: ModelCard, rule: YoloxDecoding, item: Sequence[Array], threshold: float) -> Detections:
    """Ge et al. (2021), §2.1: one box per grid cell, centre relative to the cell, size as a power of e, in strides."""
    (rows,) = _exactly(card, item, 1)
    cells, strides = _grid(card.input.width, card.input.height, rule.strides)
    if rows.shape != (len(cells), 5 + len(card.classes)):
        wanted = f"{len(cells)} × {5 + len(card.classes)}"
        given = " × ".join(map(str, rows.shape))
        raise ModelError(f"model {card.name!r} says {given}, its strides and classes mean {wanted}: check its card")
    likely = np.flatnonzero(rows[:, 4] >= threshold)  # no class score exceeds 1, so nothing else can reach it
    rows, cells, strides = rows[likely], cells[likely], strides[likely, None]
    scores = rows[:, 4] * rows[:, 5:].max(axis=1, initial=0.0)
    with np.errstate(over="ignore"):  # an absurd size becomes infinite, and the box is dropped as unsound
        centre, half = (rows[:, :2] + cells) * strides, np.exp(rows[:, 2:4]) * strides / 2
    found = Detections(np.hstack([centre - half, centre + half]), scores, rows[:, 5:].argmax(axis=1))
    return found[scores >= threshold]


@lru_cache(maxsize=GRIDS)
def _grid(width: int, height: int, strides: tuple[int, ...]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Column and row of every cell, row by row, finest stride first; and each cell's stride. Not to be written to."""
    cells = []
    for stride in strides:
        rows, columns = np.mgrid[: height // stride, : width // stride]
        cells.append(np.column_stack([columns.ravel(), rows.ravel()]).astype(np.float32))
    return np.vstack(cells), np.repeat(np.asarray(strides, np.float32), [len(each) for each in cells])


def _ssd(card: ModelCard, rule: SsdDecoding, item: Sequence[Array], threshold: float) -> Detections:
    """Liu et al. (2016): boxes and class scores per prior; or what a graph that decoded them itself says."""
    boxes, scores, *labels = item
    if labels:
        scores, classes = _labelled(card, rule, scores, labels)
    else:
        scores, classes = _best_class(card, rule, scores)
    likely = np.flatnonzero((scores >= threshold) & (classes >= 0))
    return Detections(_corners(card.input, rule, boxes[likely]), scores[likely], classes[likely])


def _best_class(card: ModelCard, rule: SsdDecoding, scores: Array) -> tuple[Array, Array]:
    """K × classes → score and index of the best class that is not the background."""
    if rule.background is not None:
        scores = np.delete(scores, rule.background, axis=1)
    if scores.ndim != 2 or scores.shape[1] != len(card.classes):
        raise ModelError(f"model {card.name!r} scores {scores.shape[-1]} classes, its card lists {len(card.classes)}")
    return scores.max(axis=1), scores.argmax(axis=1)


def _labelled(card: ModelCard, rule: SsdDecoding, scores: Array, labels: Sequence[Array]) -> tuple[Array, Array]:
    """K scores and labels, and perhaps how many of them count → score and class index, −1 where it is none of ours."""
    classes = labels[0].astype(np.intp) - rule.first_label
    known = (classes >= 0) & (classes < len(card.classes))
    if rule.background is not None:
        known &= labels[0] != rule.background
    if len(labels) > 1:
        known &= np.arange(len(classes)) < int(labels[1])
    return scores, np.where(known, classes, -1)


def _corners(size: ImageInput, rule: SsdDecoding, boxes: Array) -> NDArray[np.float32]:
    if rule.box_order == "yxyx":
        boxes = boxes[:, [1, 0, 3, 2]]
    elif rule.box_order == "cxcywh":
        boxes = np.hstack([boxes[:, :2] - boxes[:, 2:] / 2, boxes[:, :2] + boxes[:, 2:] / 2])
    scale = (size.width, size.height, size.width, size.height) if rule.normalised else (1, 1, 1, 1)
    return (boxes * np.asarray(scale, np.float32)).astype(np.float32)


def _exactly(card: ModelCard, item: Sequence[Array], count: int) -> Sequence[Array]:
    if len(item) != count:
        raise ModelError(
            f"model {card.name!r} has {len(item)} outputs, this decoding takes {count}: name it in 'outputs'"
        )
    return item
