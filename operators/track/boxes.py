"""Boxes as arrays: ``corners`` are n × 4 (x_min … y_max), ``shapes`` n × 4 (centre x, y; logarithm of width, height).

Sizes are kept as logarithms: they stay positive, and noise of a share of the size is noise of one strength.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from operators.frames.frame import Region

Array = NDArray[np.float64]

LEAST_SIZE, LARGEST_SIZE = 1e-4, 3.0
"""Bounds of a box's width and height; the frame is 1."""
LOWEST, HIGHEST = -1.0, 2.0
"""Bounds of a corner: what lies further outside the frame is moved here."""
_LEAST = np.array([LOWEST, LOWEST, np.log(LEAST_SIZE), np.log(LEAST_SIZE)])
_MOST = np.array([HIGHEST, HIGHEST, np.log(LARGEST_SIZE), np.log(LARGEST_SIZE)])


def corners_of(regions: Sequence[Region]) -> Array:
    """The regions' boxes, which are finite, within bounds."""
    return np.array([corners(one) for one in regions], np.float64).reshape(-1, 4).clip(LOWEST, HIGHEST)


def corners(region: Region) -> tuple[float, float, float, float]:
    """The region's box as numbers."""
    box = region.box
    return box.x_min, box.y_min, box.x_max, box.y_max


def shapes_of(corners: Array) -> Array:
    """Centre and logarithm of the size."""
    size = np.clip(corners[:, 2:] - corners[:, :2], LEAST_SIZE, LARGEST_SIZE)
    return np.hstack(((corners[:, :2] + corners[:, 2:]) / 2, np.log(size)))


def bounded(shapes: Array) -> Array:
    """The nearest shapes within the bounds of corners and sizes."""
    return np.asarray(np.minimum(np.maximum(shapes, _LEAST), _MOST))
