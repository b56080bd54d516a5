"""When the frames of a stream are kept, which causes are worth it, and the latest frames before a cause. Pure.

What happens at zones and lines, and what audits find, is always kept. Objects that come, change and go may do so all
the time: they are kept as long as recording costs little beside the analysis.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator
from dataclasses import dataclass

from operators.frames.frame import Frame
from operators.wire.schema import Result
from pipelines.observe.record.layout import MOST_FRAMES, MOST_HELD

AFTER_S = 2.0
"""Media time after an event that is kept."""
ORDINARY = frozenset({"new", "update", "end"})
"""Types of events that are kept where that costs little."""
SHARE = 0.03
"""The share of the process's processor seconds that may go into ordinary events."""
ALLOWANCE_S = 3.0
"""Processor seconds that may go into them before: a run begins with few."""
SPAN_S = 3.0
"""Media time before an event that is kept."""
MOST_BYTES = 64 << 20
"""Bytes of decoded frames, of all streams together."""


def affordable(spent_s: float, process_s: float) -> bool:
    """Whether ordinary events may be kept; ``spent_s``: processor seconds of recording, of ``process_s`` in all."""
    return spent_s <= ALLOWANCE_S + SHARE * process_s


class Window:
    """The part of one stream's run that is kept."""

    def __init__(self, run: str, numbers: Iterator[int]) -> None:
        """``numbers``: of new episodes."""
        self.run, self._numbers = run, numbers
        self._episode: int | None = None
        self._until_s = 0.0
        self._frames = 0

    def wanted(self, at_s: float, held: int) -> int:
        """Keep what comes for a while after this media time; returns the episode, which is new where none is open.

        ``held``: frames from before that are kept too.
        """
        if self._episode is None:
            self._begin()
            self._until_s = at_s
        self._until_s = max(self._until_s, at_s + AFTER_S)
        self._frames += held
        assert self._episode is not None
        return self._episode

    def episode_of(self, at_s: float) -> int | None:
        """The episode that the stream's next frame belongs to; None: nobody wants it."""
        if self._episode is None or at_s > self._until_s:
            self._episode = None
        elif self._frames >= MOST_FRAMES:
            self._begin()
        self._frames += 1
        return self._episode

    def _begin(self) -> None:
        self._episode, self._frames = next(self._numbers), 0


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
        return self.frame.media_time_s


class Preroll:
    """Frames that nobody has wanted yet; the oldest go. It copies nothing."""

    def __init__(self, span_s: float = SPAN_S, most_bytes: int = MOST_BYTES) -> None:
        self._span_s, self._most_bytes = span_s, most_bytes
        self._lines: dict[tuple[str, str], deque[Shot]] = {}
        """By query and stream."""
        self._holders: Counter[int] = Counter()
        """By picture, the queries that have it here: it is one in memory."""
        self.bytes = 0
        """Size of the frames that are held."""

    def add(self, shot: Shot, query: str = "") -> None:
        """Take a stream's latest frame; those of another run, and those from too long ago, go."""
        shots = self._lines.setdefault((query, shot.frame.stream), deque())
        shots.append(shot)
        self._holders[id(shot.frame.pixels)] += 1
        if self._holders[id(shot.frame.pixels)] == 1:
            self.bytes += shot.bytes
        while len(shots) > MOST_HELD or self._is_past(shots[0], shot):
            self._drop(shots)
        while self.bytes > self._most_bytes:
            self._drop(max(self._lines.values(), key=lambda each: len(each) * each[-1].bytes if each else 0))

    def take(self, stream: str, query: str = "") -> list[Shot]:
        """Hand the stream's frames over, the oldest first."""
        shots = self._lines.pop((query, stream), deque())
        taken = list(shots)
        while shots:
            self._drop(shots)
        return taken

    def find(self, stream: str, run: str, seq: int) -> Frame | None:
        """A frame that is still held."""
        held = self._lines.get(("", stream), ())
        return next((shot.frame for shot in held if (shot.frame.run, shot.frame.seq) == (run, seq)), None)

    def _is_past(self, shot: Shot, latest: Shot) -> bool:
        return abs(latest.at_s - shot.at_s) > self._span_s or shot.frame.run != latest.frame.run

    def _drop(self, shots: deque[Shot]) -> None:
        gone = shots.popleft()
        picture = id(gone.frame.pixels)
        self._holders[picture] -= 1
        if not self._holders[picture]:
            del self._holders[picture]
            self.bytes -= gone.bytes
