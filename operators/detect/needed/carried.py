"""Regions of an earlier detection as they lie now. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from operators.detect.needed.flow import Boxes, Flow, moved
from operators.frames.frame import Box, Region

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
    kept = ((region, _inside(moved(field, box))) for region, box in zip(regions, boxes_of(regions), strict=True))
    return [replace(region, box=box) for region, box in kept if box is not None]


def aged(region: Region, age_s: float) -> Region:
    """Return the region as it is given to later nodes: a new object with its age, less sure than when it was found."""
    faded = region.confidence * max(0.0, 1 - FADING_PER_S * age_s)
    return replace(region, confidence=faded, age_s=age_s, attributes=[], track_id=None)


def _inside(corners: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> Box | None:
    whole, clipped = Box(*map(float, corners)), Box(*map(float, np.clip(corners, 0.0, 1.0)))
    if clipped.x_min >= clipped.x_max or clipped.y_min >= clipped.y_max:
        return None
    return clipped if clipped.area >= LEAST_INSIDE * whole.area else None
