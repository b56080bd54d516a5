"""A sampled picture on its way from a decoder to its place in the run, and what its thumbnail shows: whether something
moved, and whether the camera sends one picture for ever, as one whose encoder hangs often does.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import cv2
import numpy as np

from operators.frames.changes import changed_cells
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


WIDTH = 160
"""Pixels of what ``FreezeWatch`` looks at."""


def samples(pixels: Pixels) -> Image:
    """Make a small grey image of ``WIDTH`` pixels; each is the mean of some of those it stands for, so noise stays."""
    width, height = WIDTH, max(1, round(pixels.shape[0] * WIDTH / pixels.shape[1]))
    if isinstance(pixels, Planes):
        sparse = cv2.LUT(_sparse(pixels.brightness, width, height), GREY_LEVELS)
    else:
        sparse = cv2.cvtColor(_sparse(bgr(pixels), width, height), cv2.COLOR_BGR2GRAY)
    return cast(Image, cv2.resize(sparse, (width, height), interpolation=cv2.INTER_AREA))


def _sparse(image: Image, width: int, height: int) -> Image:
    return cast(Image, cv2.resize(image, (2 * width, 2 * height), interpolation=cv2.INTER_LINEAR))


class MotionGate:
    """Compares each picture with the last one let through, so slow movement adds up until it passes.

    What moves is what asks for a detector that runs when it is needed: a sensor's noise, and light that changes
    everywhere, do not pass.
    """

    def __init__(self) -> None:
        self._reference: Image | None = None

    def passes(self, small: Image) -> bool:
        """Whether the frame of this thumbnail, as ``operators.frames.changes`` makes it, goes on; the first does."""
        before = self._reference
        if before is not None and before.shape == small.shape and not changed_cells(before, small).any():
            return False
        self.passed(small)
        return True

    def passed(self, small: Image) -> None:
        """Take a frame that goes on whatever it shows."""
        self._reference = small


FREEZE_PICTURES = 5
"""Pictures that must be identical: one that sends a picture a minute may well repeat one."""


class FreezeWatch:
    """Tells when the pictures have been identical for ``timeout_s``.

    Identical to the last bit of ``samples``: the noise of a working sensor changes some of them even
    where nothing moves, so a still scene is not mistaken for a frozen camera.
    """

    def __init__(self, timeout_s: float) -> None:
        self._timeout_s = timeout_s
        self._still: Image | None = None
        self._since_s, self._pictures = 0.0, 0

    def frozen(self, seen: Image, now_s: float) -> bool:
        """Feed the next ``samples``, taken at ``now_s`` on any steady clock."""
        if self._still is None or not np.array_equal(self._still, seen):
            self._still, self._since_s, self._pictures = seen, now_s, 0
        self._pictures += 1
        return self._pictures >= FREEZE_PICTURES and now_s - self._since_s >= self._timeout_s
