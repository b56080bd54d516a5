"""The small grey copy of a frame on which movement is measured, and the changes between two, on a grid of cells. Pure.

A change of light of the whole frame is none, and the threshold follows the picture's own noise. Cells are shares of the
frame, so that a camera's resolution changes nothing.
"""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from operators.frames.planes import Pixels, grey
from serving.common.tensors import Image

WIDTH = 256
"""Pixels: an object of a fortieth of the frame's width still has six. Flow takes longer with every one."""


def thumbnail(pixels: Pixels) -> Image:
    """H × W pixels → h × ``WIDTH`` grey levels, each the mean of its area; smaller frames keep their size."""
    height, width, _ = pixels.shape
    scale = min(1.0, WIDTH / width)
    return grey(pixels, max(1, round(width * scale)), max(1, round(height * scale)))


COLUMNS, ROWS = 32, 18
LEAST_LEVELS = 12.0
"""Grey levels: less is a codec's noise on every camera."""
NOISE_FACTOR = 6.0
"""Standard deviations of the picture's noise that a pixel must change by."""
MOST_LEVELS = 40.0
"""Grey levels that are no noise, however many pixels differ by them: after a cut most do."""
CELL_SHARE = 0.2
"""Share of a cell's pixels that must change."""

Cells = NDArray[np.bool_]
"""``ROWS`` × ``COLUMNS``."""


def brighter(before: Image, now: Image) -> int:
    """Grey levels by which the picture as a whole has become brighter; below 0 where it is darker."""
    return int(np.median(now[::4, ::4].astype(np.int16) - before[::4, ::4]))


def changed_cells(before: Image, now: Image) -> Cells:
    light = brighter(before, now)
    size = cv2.absdiff(now, cv2.add(before, float(light)) if light > 0 else cv2.subtract(before, float(-light)))
    noise = 1.4826 * float(np.median(size[::4, ::4]))
    least = min(max(LEAST_LEVELS, NOISE_FACTOR * noise), MOST_LEVELS)
    _, mask = cv2.threshold(size, least, 255, cv2.THRESH_BINARY)
    shares = cv2.resize(cv2.medianBlur(mask, 3), (COLUMNS, ROWS), interpolation=cv2.INTER_AREA)
    return np.asarray(shares > 255 * CELL_SHARE)
