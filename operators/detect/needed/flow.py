"""Moves boxes by what the pixels inside them did: dense optical flow between two thumbnails. Pure.

The flow is computed once for all boxes (Kroeger et al., 2016, "Fast Optical Flow using Dense Inverse Search"); a box
moves by its median, and its size changes as the halves of the box move apart.
"""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from serving.common.tensors import Image

Boxes = NDArray[np.float64]
"""N × 4 corners as shares of the frame: x_min, y_min, x_max, y_max."""
Corners = NDArray[np.float64]
"""One box: x_min, y_min, x_max, y_max."""
Flow = NDArray[np.float32]
"""h × w × 2 pixels: where each pixel of the earlier thumbnail went."""

NARROWEST = 16
"""Pixels: the search needs that much of a picture in both directions."""
MOST_ROWS = 12
"""Rows and columns of points that are looked at in a box."""
INSET = 0.1
"""Share of a side that is left out: the border of a box is mostly background."""
STILL = 0.3
"""Pixels below which a point stands still."""
MOVING_SHARE = 0.2
"""From this share of moving points on the others are background seen inside the box."""
LEAST_SCALE, MOST_SCALE = 0.9, 1.12
"""Change of size from one frame to the next; more is a mistake."""


def flow(before: Image, now: Image) -> Flow:
    """Return how the pixels moved from one thumbnail to the next, of the same size; in a sliver none did."""
    if min(before.shape) < NARROWEST:
        return np.zeros((*before.shape, 2), np.float32)
    # A search of its own: it keeps buffers and what it chose for the size of its first pictures.
    search = cv2.DISOpticalFlow.create(cv2.DISOPTICAL_FLOW_PRESET_ULTRAFAST)
    found: Flow = search.calc(before, now, None)
    return found


def moved(field: Flow, box: Corners) -> Corners:
    """Return the box, four corners as shares of the frame, as it lies after the movement."""
    height, width = field.shape[:2]
    scale = np.array([width, height], np.float64)
    inner = _inside(field, box)
    if inner is None:
        return box.copy()
    shift, grown = _median(inner), _growth(inner, (box[2:] - box[:2]) * scale * (1 - 2 * INSET))
    centre, half = (box[:2] + box[2:]) / 2 + shift / scale, (box[2:] - box[:2]) / 2 * grown
    return np.concatenate([centre - half, centre + half])


def middle(values: NDArray[Any]) -> Any:
    """The median along the first axis, without the many steps of ``numpy.median``: here are few numbers."""
    ordered, half = np.sort(values, axis=0), len(values) // 2
    return ordered[half] if len(values) % 2 else (ordered[half - 1] + ordered[half]) / 2


def _inside(field: Flow, box: Corners) -> Flow | None:
    """The part of the field inside the box; None outside the frame."""
    height, width = field.shape[:2]
    wide, high = (box[2] - box[0]) * INSET, (box[3] - box[1]) * INSET
    left, right = max(int((box[0] + wide) * width), 0), min(int(np.ceil((box[2] - wide) * width)), width)
    top, bottom = max(int((box[1] + high) * height), 0), min(int(np.ceil((box[3] - high) * height)), height)
    if right <= left or bottom <= top:
        return None
    return field[top : bottom : 1 + (bottom - top) // MOST_ROWS, left : right : 1 + (right - left) // MOST_ROWS]


def _median(part: Flow) -> NDArray[np.float64]:
    """The median step, in pixels, of what moves; background that is seen inside the box does not."""
    steps = part.reshape(-1, 2)
    moving = np.abs(steps).max(axis=1) > STILL
    if MOVING_SHARE * len(steps) <= np.count_nonzero(moving):
        steps = steps[moving]
    return np.asarray(middle(steps), np.float64)


def _growth(part: Flow, sides: NDArray[np.float64]) -> NDArray[np.float64]:
    """How much the box widens and heightens; the centres of its halves are half of its sides, in pixels, apart."""
    high, wide = part.shape[:2]
    if high < 4 or wide < 4:
        return np.ones(2)
    apart_x = float(middle(part[:, wide // 2 :, 0].ravel()) - middle(part[:, : wide // 2, 0].ravel()))
    apart_y = float(middle(part[high // 2 :, :, 1].ravel()) - middle(part[: high // 2, :, 1].ravel()))
    return np.clip(1 + 2 * np.array([apart_x, apart_y]) / sides, LEAST_SCALE, MOST_SCALE)
