"""The durable results of a recording, as far as its analysis needs them to go on. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from operators.wire.schema import BoundingBox, Result

LEAD_S = 20.0
"""Media time before the first new frame that is analysed once more; trackers forget what was not seen for less."""
LEAST_LEAD = 10
"""Frames of it at least, where they are far apart."""
MOST_LEAD = 1500
"""Frames of it at most: five seconds at 300 a second."""


class Position(NamedTuple):
    """The last durable result of a stream."""

    run: str
    seq: int
    media_time_s: float


class PastObject(NamedTuple):
    """An object that has a track."""

    label: str
    box: BoundingBox
    track_id: int


@dataclass(frozen=True, slots=True)
class PastFrame:
    """A frame whose result is durable."""

    seq: int
    media_time_s: float
    objects: Sequence[PastObject]

    @classmethod
    def of(cls, result: Result) -> PastFrame:
        """The part of a result that is remembered."""
        tracked = ((each, each.track_id) for each in result.objects)
        objects = [PastObject(each.label, each.box, track) for each, track in tracked if track is not None]
        return cls(result.seq, result.frame.media_time_s, objects)


def is_lead(media_time_s: float, frames: int, last_s: float) -> bool:
    """Whether a frame belongs to the lead-in, of which so many frames lie between it and the last one."""
    return frames < LEAST_LEAD or (frames < MOST_LEAD and last_s - media_time_s <= LEAD_S)
