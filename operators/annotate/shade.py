"""Shows masks: the picture is darker where objects do not count, and every polygon has a thin outline."""

from __future__ import annotations

from collections.abc import Sequence

import cv2
import numpy as np
from numpy.typing import NDArray

from operators.frames.mask import Mask
from serving.common.tensors import Image

DIMMED = 0.6
"""Share of its brightness that the picture keeps where objects do not count."""
OUTLINE = (200, 200, 200)
FINE = 4
"""Binary digits of a pixel that corners are drawn with."""


def shade(canvas: Image, masks: Sequence[Mask]) -> None:
    """Draw the masks of a stream onto a picture."""
    if not masks:
        return
    dim = _dim(canvas, masks)
    canvas[dim] = (canvas[dim] * DIMMED).astype(np.uint8)
    for mask in masks:
        cv2.polylines(canvas, [_pixels(canvas, mask)], True, OUTLINE, 1, cv2.LINE_AA, FINE)


def _dim(canvas: Image, masks: Sequence[Mask]) -> NDArray[np.bool_]:
    """Pixels inside of a polygon that ignores, and those outside of all that require."""
    ignored, required = (
        _filled(canvas, [each for each in masks if each.kind == kind]) for kind in ("ignore", "require")
    )
    return ignored | ~required if required.any() else ignored


def _filled(canvas: Image, masks: Sequence[Mask]) -> NDArray[np.bool_]:
    plane = np.zeros(canvas.shape[:2], np.uint8)
    for mask in masks:
        cv2.fillPoly(plane, [_pixels(canvas, mask)], 1, cv2.LINE_8, FINE)
    return plane.astype(bool)


def _pixels(canvas: Image, mask: Mask) -> NDArray[np.int32]:
    height, width = canvas.shape[:2]
    return np.round(np.array(mask.polygon) * (width, height) * (1 << FINE)).astype(np.int32)
