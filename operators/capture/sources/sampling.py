"""Which frames of a stream to look at, decided from media time alone."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

_EARLY_S = 0.002
"""How early a frame may come: some containers (FLV, Matroska) round time stamps to milliseconds."""


@dataclass(frozen=True, slots=True)
class Sampling:
    """``all`` frames, ``keyframes`` only, or at most ``fps`` frames per second of media time."""

    mode: Literal["all", "keyframes", "fps"] = "all"
    fps: float | None = None

    def __post_init__(self) -> None:
        if (self.mode == "fps") != (self.fps is not None):
            raise ValueError("fps goes with the mode 'fps', and only with it")
        if self.fps is not None and not 0 < self.fps < math.inf:
            raise ValueError(f"fps must be a positive number, not {self.fps}")


class Sampler:
    """Takes the first frame of each interval of 1/fps seconds; the intervals are fixed, so errors do not add up."""

    def __init__(self, sampling: Sampling) -> None:
        self._fps = sampling.fps
        self._last_interval = -1

    def takes(self, media_time_s: float) -> bool:
        """Whether to take the frame; ``media_time_s`` counts from 0 and does not go back."""
        if self._fps is None:
            return True
        interval = interval_of(media_time_s, self._fps)
        if interval <= self._last_interval:
            return False
        self._last_interval = interval
        return True


def interval_of(media_time_s: float, fps: float) -> int:
    """Number of the interval of 1/fps seconds in which a frame lies."""
    return math.floor((media_time_s + _EARLY_S) * fps)
