"""The small grey copy of a frame on which movement is measured. Pure."""

from __future__ import annotations

import cv2

from serving.common.tensors import Image

WIDTH = 256
"""Pixels: an object of a fortieth of the frame's width still has six, and flow takes half a millisecond."""


def thumbnail(image: Image) -> Image:
    """H × W × 3 pixels, blue-green-red → h × ``WIDTH`` grey levels; smaller frames keep their size."""
    scale = min(1.0, WIDTH / image.shape[1])
    size = (max(1, round(image.shape[1] * scale)), max(1, round(image.shape[0] * scale)))
    small: Image = cv2.cvtColor(cv2.resize(image, size, interpolation=cv2.INTER_AREA), cv2.COLOR_BGR2GRAY)
    return small
