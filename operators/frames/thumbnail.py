"""The small grey copy of a frame on which movement is measured. Pure."""

from __future__ import annotations

from operators.frames.planes import Pixels, grey
from serving.common.tensors import Image

WIDTH = 256
"""Pixels: an object of a fortieth of the frame's width still has six. Flow takes longer with every one."""


def thumbnail(pixels: Pixels) -> Image:
    """H × W pixels → h × ``WIDTH`` grey levels, each the mean of its area; smaller frames keep their size."""
    height, width, _ = pixels.shape
    scale = min(1.0, WIDTH / width)
    return grey(pixels, max(1, round(width * scale)), max(1, round(height * scale)))
