"""A sampled picture on its way from a decoder to its place in the run, and what its thumbnail shows: whether something
moved, and whether the camera sends one picture for ever, as one whose encoder hangs often does.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import cv2
import numpy as np

from operators.frames.codec import decode_frame
from operators.frames.jpeg_picture import JpegPicture
from operators.frames.planes import GREY_LEVELS, Pixels, Planes, bgr
from operators.wire.schema import FrameHeader
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
    if isinstance(pixels, JpegPicture):
        return pixels.grey(width, height)
    if isinstance(pixels, Planes):
        sparse = cv2.LUT(_sparse(pixels.brightness, width, height), GREY_LEVELS)
    else:
        sparse = cv2.cvtColor(_sparse(pixels, width, height), cv2.COLOR_BGR2GRAY)
    return cast(Image, cv2.resize(sparse, (width, height), interpolation=cv2.INTER_AREA))


def thumbnail_of(header: FrameHeader, data: bytes, width: int = 160) -> Image:
    """The same of a message's picture, most of which is not decoded; raises FrameError. Call it in a thread."""
    return thumbnail(decode_frame(header, data, width).pixels, width)


def _sparse(image: Image, width: int, height: int) -> Image:
    return cast(Image, cv2.resize(image, (2 * width, 2 * height), interpolation=cv2.INTER_LINEAR))


_LEVELS = 20
"""Grey levels by which a pixel must change: more than the sensor's noise averaged over a thumbnail's cell."""
_SHARE = 0.001
"""Share of the thumbnail's pixels that must change: 14 cells of 160×90, a person far away."""


class MotionGate:
    """Compares each thumbnail with the last one let through, so slow movement adds up until it passes."""

    def __init__(self) -> None:
        self._reference: Image | None = None

    def passes(self, thumbnail: Image) -> bool:
        """Whether the frame of this grey thumbnail goes on; the first always does."""
        if self._reference is not None and self._reference.shape == thumbnail.shape:
            change = np.abs(self._reference.astype(np.int16) - thumbnail)
            if np.count_nonzero(change > _LEVELS) < _SHARE * change.size:
                return False
        self.passed(thumbnail)
        return True

    def passed(self, thumbnail: Image) -> None:
        """Take a frame that goes on whatever it shows."""
        self._reference = thumbnail


FREEZE_PICTURES = 5
"""Pictures that must be identical: one that sends a picture a minute may well repeat one."""


class FreezeWatch:
    """Tells when the pictures have been identical for ``timeout_s``.

    Identical to the last bit of a small thumbnail: the noise of a working sensor changes some of its pixels even
    where nothing moves, so a still scene is not mistaken for a frozen camera.
    """

    def __init__(self, timeout_s: float) -> None:
        self._timeout_s = timeout_s
        self._still: Image | None = None
        self._since_s, self._pictures = 0.0, 0

    def frozen(self, thumbnail: Image, now_s: float) -> bool:
        """Feed the next thumbnail, taken at ``now_s`` on any steady clock."""
        if self._still is None or not np.array_equal(self._still, thumbnail):
            self._still, self._since_s, self._pictures = thumbnail, now_s, 0
        self._pictures += 1
        return self._pictures >= FREEZE_PICTURES and now_s - self._since_s >= self._timeout_s
