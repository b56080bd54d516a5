"""Detections in one image: boxes, which of them are sound, and which of them are one thing. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from serving.common.tensors import Array, numbers

MAX_CANDIDATES = 1000
"""Number of boxes with the highest scores that are compared; suppression compares all pairs."""

FARTHEST = 1e5
"""Pixels: a corner farther away is compared as if it lay here."""

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
    landmarks: NDArray[np.float32] | None = None
    """K × 5 × 2: x and y of the points that ``operators.frames.crops`` names, in pixels of the network's input."""

    def __len__(self) -> int:
        return len(self.scores)

    def __getitem__(self, keep: Array) -> Detections:
        landmarks = None if self.landmarks is None else self.landmarks[keep]
        return Detections(self.boxes[keep], self.scores[keep], self.classes[keep], landmarks)


def likely(model: str, scores: Array, threshold: float) -> Array:
    """Places of the scores that reach the threshold; raises ModelError where one is no number."""
    return np.flatnonzero(numbers(model, scores) >= threshold)


def distinct(found: Detections, iou: float | None) -> Detections:
    """Return the sound boxes of the best candidates, each thing once, highest score first."""
    sound = np.isfinite(found.boxes).all(axis=1) & (found.boxes[:, :2] < found.boxes[:, 2:]).all(axis=1)
    found = found[np.asarray(sound)]
    found = found[np.argsort(-found.scores, kind="stable")[:MAX_CANDIDATES]]
    if iou is None or not len(found):
        return found
    kept = suppress(found, iou)
    return kept[np.argsort(-kept.scores, kind="stable")]


def suppress(found: Detections, iou: float) -> Detections:
    """Per class, drop every box that overlaps a higher-scored kept one by more than ``iou`` (greedy NMS)."""
    corners = np.clip(found.boxes.astype(np.float64), -FARTHEST, FARTHEST)
    corners -= corners.min(initial=0.0)  # OpenCV lays each class beside the others: it counts from 0 to the largest
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
    which, of_box = np.unique(found.classes, return_inverse=True)
    limits = _limits([classes[index] for index in which])
    same = overlaps(found.boxes, found.boxes) > limits[np.ix_(of_box, of_box)]
    kept = np.ones(len(found), bool)
    for index in range(len(found)):
        if kept[index]:
            kept[index + 1 :] &= ~same[index, index + 1 :]
    return found[kept]


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
    left, top, right, bottom = boxes.astype(np.float64).T[:, :, None]
    lefts, tops, rights, bottoms = others.astype(np.float64).T[:, None]
    across = np.minimum(right, rights) - np.maximum(left, lefts)
    down = np.minimum(bottom, bottoms) - np.maximum(top, tops)
    common = np.clip(across, 0.0, None) * np.clip(down, 0.0, None)
    union = (right - left) * (bottom - top) + (rights - lefts) * (bottoms - tops) - common
    shares: NDArray[np.float64] = np.divide(common, union, out=np.zeros_like(common), where=union > 0)
    return shares
