"""The small grey copy of a frame on which movement is measured. Pure."""

from __future__ import annotations

import cv2

from serving.common.tensors import Image
from serving.preprocess import halved

WIDTH = 256
"""Pixels: an object of a fortieth of the frame's width still has six. Flow takes longer with every one."""


def thumbnail(image: Image) -> Image:
    """H × W × 3 pixels, blue-green-red → h × ``WIDTH`` grey levels; smaller frames keep their size.

    Each grey level is the mean of the area that it stands for. Grey first: one plane to shrink instead of three.
    """
    scale = min(1.0, WIDTH / image.shape[1])
    size = (max(1, round(image.shape[1] * scale)), max(1, round(image.shape[0] * scale)))
    grey: Image = cv2.cvtColor(image, cv2.COLOR_BGR2GRAY)
    small: Image = cv2.resize(halved(grey, *size), size, interpolation=cv2.INTER_AREA)
    return small
