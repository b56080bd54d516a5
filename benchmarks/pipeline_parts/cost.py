"""What a frame costs, from moments noted after each frame. Pure."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Cost:
    """What one frame costs on average."""

    wall_s: float
    cpu_s: float
    """Sum over all threads of the process."""
    framework_s: float = math.nan
    """The part spent on anything but the work; NaN where nobody kept account."""

    @property
    def fps(self) -> float:
        """Frames per second."""
        return 1.0 / self.wall_s


@dataclass(frozen=True)
class Marks:
    """Clocks read after each frame of one process, seconds."""

    wall_s: list[float] = field(default_factory=list)
    cpu_s: list[float] = field(default_factory=list)
    framework_s: dict[int, float] = field(default_factory=dict)
    """By number of the frame, for some."""

    def note(self) -> None:
        """A frame is done."""
        self.wall_s.append(time.perf_counter())
        self.cpu_s.append(time.process_time())

    def cost(self, first: int, last: int) -> Cost:
        """Cost of the frames after ``first`` up to and with ``last``, counted from 0."""
        if not 0 <= first < last < len(self.wall_s):
            raise ValueError(f"frames {first} to {last} of {len(self.wall_s)}")
        frames = last - first
        return Cost(
            (self.wall_s[last] - self.wall_s[first]) / frames,
            (self.cpu_s[last] - self.cpu_s[first]) / frames,
            (self.framework_s.get(last, math.nan) - self.framework_s.get(first, math.nan)) / frames,
        )


def middle(frames: int) -> tuple[int, int]:
    """Where to begin and to end counting: a tenth at the start and at the end of a run is left out."""
    return frames // 10, frames - 1 - frames // 10


def framework_share(run: Cost) -> float:
    """The part of a worker's processor time that goes into anything but the work."""
    return run.framework_s / run.cpu_s


def beyond_ms(latency_ms: float, nodes_ms: Sequence[float]) -> float:
    """The part of a frame's time from capture to reader that no node of the query accounts for."""
    return latency_ms - sum(nodes_ms)
