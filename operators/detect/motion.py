"""The motion detector: background subtraction, no weights.

Each stream has a mixture-of-Gaussians model of its background (Zivkovic 2004, OpenCV's MOG2), learnt on a small copy of
the frame. What differs from it, is no shadow and is large enough is one region, labelled ``moving``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from operators.base import Call
from operators.frames.frame import Box, Frame, Region
from operators.frames.media_stopwatch import MediaStopwatch
from operators.frames.planes import Pixels
from operators.wire.result import MOVING
from serving.common.tensors import Image
from serving.common.threads import in_thread

_SHADOW = 127  # MOG2 marks shadow pixels with this value, foreground with 255


@dataclass(frozen=True, slots=True)
class MotionSettings:
    """Parameters of the motion detector; lengths and areas are relative to the frame."""

    width: int = 320
    """Pixels of the small copy that is analysed."""
    min_area: float = 0.0015
    max_area: float = 0.6
    """A larger change is a change of light or of the camera's view, not an object."""
    absorb_s: float = 4.0
    """Things that stand still this long become background."""
    warmup_s: float = 0.4
    """Time to learn the background before anything is reported."""
    min_fill: float = 0.15
    """The least share of a region's box that moves: scattered specks are noise."""
    max_objects: int = 50


class Background:
    """The background of one stream, and the boxes of what is not background."""

    def __init__(self, settings: MotionSettings) -> None:
        self._settings = settings
        self._model = cv2.createBackgroundSubtractorMOG2(history=500, varThreshold=20, detectShadows=True)
        # Below this variance (grey levels squared) a difference is the codec's noise: it changes at every keyframe.
        self._model.setVarMin(20)
        self._model.setVarInit(40)
        self._clock = MediaStopwatch()
        self._begun = False

    def boxes(self, pixels: Pixels, media_time_s: float) -> list[tuple[Box, float]]:
        """Boxes of moving things with the share of each that is foreground, largest first."""
        small = self._shrink(pixels)
        mask = self._model.apply(small, learningRate=self._learning_rate(media_time_s))
        if self._clock.now_s < self._settings.warmup_s:
            return []
        return self._regions(np.where(mask > _SHADOW, np.uint8(255), np.uint8(0)))

    def _shrink(self, pixels: Pixels) -> Image:
        height, width = pixels.shape[:2]
        scale = min(1.0, self._settings.width / width)
        size = max(1, round(scale * width)), max(1, round(scale * height))
        if isinstance(pixels, np.ndarray):
            small = np.asarray(cv2.resize(pixels, size, interpolation=cv2.INTER_AREA), np.uint8)
        else:
            small = pixels.scaled(*size)
        blurred: Image = cv2.GaussianBlur(small, (5, 5), 0)
        return blurred

    def _learning_rate(self, media_time_s: float) -> float:
        """The share of the old background that is replaced, from the time passed and not from the number of frames."""
        elapsed_s = self._clock.move(media_time_s)
        if not self._begun:
            self._begun = True
            return 1.0
        if self._clock.now_s < self._settings.warmup_s:
            return 0.2
        # A new mode counts as background once the old one's weight has decayed to MOG2's background ratio.
        return 1.0 - math.pow(self._model.getBackgroundRatio(), elapsed_s / self._settings.absorb_s)

    def _regions(self, mask: NDArray[np.uint8]) -> list[tuple[Box, float]]:
        height, width = mask.shape
        opened = cv2.morphologyEx(mask, cv2.MORPH_OPEN, np.ones((2, 2), np.uint8))
        joined = cv2.morphologyEx(opened, cv2.MORPH_CLOSE, np.ones((9, 7), np.uint8))
        _, _, stats, _ = cv2.connectedComponentsWithStats(joined)
        found = []
        for left, top, w, h, _ in stats[1:]:
            box = Box(left / width, top / height, (left + w) / width, (top + h) / height)
            fill = float(np.count_nonzero(opened[top : top + h, left : left + w])) / float(w * h)
            if self._settings.min_area <= box.area <= self._settings.max_area and fill >= self._settings.min_fill:
                found.append((box, fill))
        found.sort(key=lambda item: -item[0].area)
        return found[: self._settings.max_objects]


class MotionDetector:
    """Operator: regions labelled ``moving``, class-agnostic; confidence is the share of the box that moves."""

    def __init__(self, node: str, settings: MotionSettings | None = None) -> None:
        self._node = node
        self._settings = settings or MotionSettings()
        self._backgrounds: dict[tuple[str, str], Background] = {}

    async def process(self, frame: Frame, regions: Sequence[Region], call: Call) -> list[Region]:
        key = (frame.stream, frame.run)
        if key not in self._backgrounds:
            self.forget(frame.stream)
            self._backgrounds[key] = Background(self._settings)
        background = self._backgrounds[key]
        found = await in_thread(lambda: background.boxes(frame.pixels, frame.media_time_s))
        return [
            Region(id=0, node=self._node, box=box, label=MOVING, confidence=round(fill, 4), class_agnostic=True)
            for box, fill in found
        ]

    def forget(self, stream: str) -> None:
        for key in [key for key in self._backgrounds if key[0] == stream]:
            del self._backgrounds[key]
