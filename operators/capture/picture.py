"""A sampled picture on its way from a decoder to its place in the run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import cv2

from operators.frames.planes import GREY_LEVELS, Pixels, Planes, bgr
from serving.common.tensors import Image


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture that a source yields: its pixels, its time within the source, and when and how long it was decoded.

    ``captured_s`` is on the monotonic clock, which the processes of a machine share.
    """

    pixels: Pixels
    media_time_s: float
    captured_s: float
    decode_ms: float

    @property
    def image(self) -> Image:
        """The picture in blue, green and red."""
        return bgr(self.pixels)


def thumbnail(pixels: Pixels, width: int = 160) -> Image:
    """Make a small grey image of ``width`` pixels; each cell is the mean of some samples, for speed."""
    height = max(1, round(pixels.shape[0] * width / pixels.shape[1]))
    if isinstance(pixels, Planes):
        sparse = cv2.LUT(_sparse(pixels.brightness, width, height), GREY_LEVELS)
    else:
        sparse = cv2.cvtColor(_sparse(pixels, width, height), cv2.COLOR_BGR2GRAY)
    return cast(Image, cv2.resize(sparse, (width, height), interpolation=cv2.INTER_AREA))


def _sparse(image: Image, width: int, height: int) -> Image:
    return cast(Image, cv2.resize(image, (2 * width, 2 * height), interpolation=cv2.INTER_LINEAR))
