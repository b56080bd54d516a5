"""Regions of an earlier detection as they lie now, by their motion or the pixels, and the cells they explain. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from operators.detect.needed.flow import Boxes, Corners, Flow, moved
from operators.frames.changes import COLUMNS, ROWS, Cells
from operators.frames.frame import Box, Landmarks, Region, boxes_of
from operators.track.tracker import Centres, KalmanTracker

FADING_PER_S = 0.1
"""Share of its confidence that a region loses in a second without the detector."""
LEAST_INSIDE = 0.3
"""A region of which less than this share of the box lies in the frame has left it."""


def identify(regions: Sequence[Region], tracker: KalmanTracker, elapsed_s: float) -> None:
    """Give detections the numbers under which the tracker follows them, this long after those before."""
    for region, number in zip(regions, tracker.follow(regions, elapsed_s), strict=True):
        region.identity = number


def shifted(regions: Sequence[Region], field: Flow) -> list[Region]:
    """Return the regions one frame later, moved by the pixels inside, those that have left the frame taken out."""
    return inside([(region, moved(field, box)) for region, box in zip(regions, boxes_of(regions), strict=True)])


def centred(regions: Sequence[Region], centres: Centres) -> list[Region]:
    """Return the regions around the places of their tracks, those that have left the frame taken out."""
    found = boxes_of(regions)
    there = np.array([centres[each.identity] for each in regions if each.identity is not None], np.float64)
    shift = there.reshape(-1, 2) - (found[:, :2] + found[:, 2:]) / 2
    return inside(zip(regions, found + np.hstack((shift, shift)), strict=True))


def inside(placed: Iterable[tuple[Region, Corners]]) -> list[Region]:
    """Return the regions with these corners, clipped to the frame; without those of which too little is left."""
    kept = []
    for region, corners in placed:
        whole, clipped = Box(*corners.tolist()), Box(*np.clip(corners, 0.0, 1.0).tolist())
        if (
            clipped.x_min < clipped.x_max
            and clipped.y_min < clipped.y_max
            and clipped.area >= LEAST_INSIDE * whole.area
        ):
            kept.append(replace(region, box=clipped, landmarks=landmarks_in(region, whole)))
    return kept


def aged(region: Region, age_s: float) -> Region:
    """Return the region as it is given to later nodes: a new object with its age, less sure than when it was found."""
    faded = region.confidence * max(0.0, 1 - FADING_PER_S * age_s)
    return replace(region, confidence=faded, age_s=age_s, attributes=[], track_id=None)


def landmarks_in(region: Region, now: Box) -> Landmarks | None:
    """Return the region's points, which keep their place in its box, where that has moved."""
    landmarks, before = region.landmarks, region.box
    if landmarks is None:
        return None
    across = (now.x_max - now.x_min) / (before.x_max - before.x_min)
    down = (now.y_max - now.y_min) / (before.y_max - before.y_min)
    return tuple((now.x_min + (x - before.x_min) * across, now.y_min + (y - before.y_min) * down) for x, y in landmarks)


WIDENED = 0.25
"""Share of its size by which a known box is widened on each side: its object has moved since."""


def covered_cells(boxes: Boxes) -> Cells:
    """Return the cells that lie in a box or touch it, each box widened."""
    covered = np.zeros((ROWS, COLUMNS), bool)
    for x_min, y_min, x_max, y_max in boxes:
        wide, high = (x_max - x_min) * WIDENED, (y_max - y_min) * WIDENED
        left, right = int((x_min - wide) * COLUMNS), int(np.ceil((x_max + wide) * COLUMNS))
        top, bottom = int((y_min - high) * ROWS), int(np.ceil((y_max + high) * ROWS))
        covered[max(top, 0) : max(bottom, 0), max(left, 0) : max(right, 0)] = True
    return covered
