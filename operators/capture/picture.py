"""A sampled picture on its way from a decoder to its place in the run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import cv2

from serving.common.tensors import Image


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture that a source yields: the image, its time within the source, and when and how long it was decoded.

    ``captured_s`` is on the monotonic clock, which the processes of a machine share.
    """

    image: Image
    media_time_s: float
    captured_s: float
    decode_ms: float


def thumbnail(image: Image, width: int = 160) -> Image:
    """Make a small grey image of ``width`` pixels; each cell is the mean of some samples, for speed."""
    height = max(1, round(image.shape[0] * width / image.shape[1]))
    sparse = cv2.resize(image, (2 * width, 2 * height), interpolation=cv2.INTER_LINEAR)
    grey = cv2.cvtColor(sparse, cv2.COLOR_BGR2GRAY)
    return cast(Image, cv2.resize(grey, (width, height), interpolation=cv2.INTER_AREA))
