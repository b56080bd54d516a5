"""Regions of an earlier detection as they lie now. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from operators.detect.needed.flow import Boxes, Flow, moved
from operators.frames.frame import Box, Landmarks, Region

FADING_PER_S = 0.1
"""Share of its confidence that a region loses in a second without the detector."""
LEAST_INSIDE = 0.3
"""A region of which less than this share of the box lies in the frame has left it."""


def boxes_of(regions: Sequence[Region]) -> Boxes:
    """Return the regions' corners, N × 4."""
    return np.array([[r.box.x_min, r.box.y_min, r.box.x_max, r.box.y_max] for r in regions], np.float64).reshape(-1, 4)


def shifted(regions: Sequence[Region], field: Flow | None) -> list[Region]:
    """Return the regions one frame later, those that have left the frame taken out; None: nothing has moved."""
    if field is None:
        return list(regions)
    now = [Box(*map(float, moved(field, box))) for box in boxes_of(regions)]
    kept = ((region, whole, _inside(whole)) for region, whole in zip(regions, now, strict=True))
    return [
        replace(region, box=box, landmarks=landmarks_in(region, whole))
        for region, whole, box in kept
        if box is not None
    ]


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


def _inside(whole: Box) -> Box | None:
    clipped = Box(*(min(max(side, 0.0), 1.0) for side in (whole.x_min, whole.y_min, whole.x_max, whole.y_max)))
    if clipped.x_min >= clipped.x_max or clipped.y_min >= clipped.y_max:
        return None
    return clipped if clipped.area >= LEAST_INSIDE * whole.area else None
