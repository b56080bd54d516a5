"""Where the results of a job lie, and the only memory of how far it has come: the results of a recording, as far as its
analysis needs them to go on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Protocol

from operators.wire.schema import BoundingBox, Result
from serving.common.files import PlaceClosed

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


class JobOutput(Protocol):
    """Durable results, those of each stream in order and each once."""

    @property
    def positions(self) -> Mapping[str, Position]:
        """The last durable result of each stream."""

    def tail(self, stream: str) -> list[PastFrame]:
        """The last durable frames of a stream, in order: the lead-in of those to come."""

    async def write(self, result: Result) -> None:
        """Take the next result of a stream; raises SluiceError where it cannot be written."""

    async def settle(self, stream: str) -> None:
        """Make all results of a stream durable: the recording has ended, or its analysis is broken off."""

    def close(self) -> None:
        """Let another process write there."""


def make_folder(folder: Path, parents: bool = False) -> None:
    """A folder for results, if it is not there; PlaceClosed where there can be none."""
    try:
        folder.mkdir(parents=parents, exist_ok=True)
    except OSError as error:
        raise PlaceClosed(f"cannot write results to {folder}: {error.strerror}; choose another --out") from None
