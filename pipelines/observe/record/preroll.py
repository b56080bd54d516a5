"""The latest frames of all streams, so that what led to an event can be kept too. Pure; bounded in bytes."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from operators.frames.frame import Frame
from operators.wire.schema import Result
from pipelines.observe.record.layout import MOST_HELD

SPAN_S = 3.0
"""Media time before an event that is kept."""
MOST_BYTES = 64 << 20
"""Bytes of decoded frames, of all streams together."""


@dataclass(frozen=True, slots=True, eq=False)
class Shot:
    """A frame and what was found in it."""

    frame: Frame
    result: Result

    @property
    def bytes(self) -> int:
        """Size of the frame, decoded and as it came."""
        return self.frame.pixels.nbytes + len(self.frame.jpeg or b"")

    @property
    def at_s(self) -> float:
        """Media time."""
        return self.frame.media_time_s


class Preroll:
    """Frames that nobody has wanted yet; the oldest go. It copies nothing."""

    def __init__(self, span_s: float = SPAN_S, most_bytes: int = MOST_BYTES) -> None:
        self._span_s, self._most_bytes = span_s, most_bytes
        self._streams: dict[str, deque[Shot]] = {}
        self.bytes = 0
        """Size of the frames that are held."""

    def add(self, shot: Shot) -> None:
        """Take a stream's latest frame; those of another run, and those from too long ago, go."""
        shots = self._streams.setdefault(shot.frame.stream, deque())
        shots.append(shot)
        self.bytes += shot.bytes
        while len(shots) > MOST_HELD or self._is_past(shots[0], shot):
            self._drop(shots)
        while self.bytes > self._most_bytes:
            self._drop(max(self._streams.values(), key=lambda each: sum(shot.bytes for shot in each)))

    def take(self, stream: str) -> list[Shot]:
        """Hand the stream's frames over, the oldest first."""
        taken = list(self._streams.pop(stream, ()))
        self.bytes -= sum(shot.bytes for shot in taken)
        return taken

    def find(self, stream: str, run: str, seq: int) -> Frame | None:
        """A frame that is still held."""
        held = self._streams.get(stream, ())
        return next((shot.frame for shot in held if (shot.frame.run, shot.frame.seq) == (run, seq)), None)

    def _is_past(self, shot: Shot, latest: Shot) -> bool:
        return abs(latest.at_s - shot.at_s) > self._span_s or shot.frame.run != latest.frame.run

    def _drop(self, shots: deque[Shot]) -> None:
        self.bytes -= shots.popleft().bytes
