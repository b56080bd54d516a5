"""Where a run goes on that was broken off in the middle of a recording. Pure.

The run's last frames are handed on once more, under their old numbers, so that trackers and pools are warm when the
first new frame comes. Media times say which frames those are: a frame at another time was not sampled, or not moving.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Resumption:
    """A run of a recording that was begun before."""

    run: str
    """Its id."""
    passed: Mapping[float, int] = field(default_factory=dict)
    """Media time, in seconds, and ``seq`` of its last frames, in order; empty: it begins."""
    until_s: float = math.inf
    """The media time at which it ends, without the frame there."""


class PlaceLost(Exception):
    """The recording went on without the frame after which its run was broken off."""


class LeadIn:
    """Recognises the frames that a run had before it was broken off; they come in the order of their media times."""

    def __init__(self, passed: Mapping[float, int]) -> None:
        self._passed = passed
        self._last_s = max(passed, default=-math.inf)
        self._met = not passed

    @property
    def from_s(self) -> float:
        """Media time of its first frame; 0 where there is none."""
        return min(self._passed, default=0.0)

    @property
    def next_seq(self) -> int:
        """The number of the first new frame."""
        return max(self._passed.values(), default=-1) + 1

    def covers(self, media_time_s: float) -> bool:
        """Whether a frame is not new."""
        return media_time_s <= self._last_s

    def seq(self, media_time_s: float) -> int | None:
        """The number of a frame that is not new; None: it had none, or lies before the lead-in."""
        self._met = self._met or media_time_s == self._last_s
        return self._passed.get(media_time_s)

    def over(self) -> None:
        """A new frame comes, or none: raises PlaceLost where the last one before it was missing."""
        if not self._met:
            raise PlaceLost(f"no frame at {self._last_s:.3f} s")
