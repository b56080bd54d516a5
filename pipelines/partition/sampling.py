"""Which frames a query looks at, of streams whose producer publishes every frame: as its ``sample`` says, unless
capture has left the others out already. By media time and numbers alone; no clock. Queries that thin a stream
by movement alike have one motion gate, and see the same frames.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

from msgspec import UNSET

from operators.capture.picture import MotionGate
from operators.capture.sources.sampling import interval_of
from operators.frames.changes import WIDTH, thumbnail
from operators.frames.codec import DECODING_BYTES_PER_PIXEL, FrameError, decode_frame
from operators.wire.schema import FrameHeader, Result
from pipelines.execute.frame_room import ByteBudget
from pipelines.query.query_file import Fps, Query
from serving.common.threads import in_thread

LeftOut = Literal["sample", "motion_gate", "repeated"]
"""``sample``: another frame of its interval is looked at. ``motion_gate``: nothing moves in it. ``repeated``: a worker
before this one has left it out, and has answered later ones."""

BACK_S: Final = 1.0
"""Media time that goes back further begins anew; less is the disorder of frames that come by several ways."""
LONGEST_INTERVAL_S: Final = 3600.0
"""As long an interval holds on, where workers take streams over."""


@dataclass(frozen=True, slots=True)
class Thinning:
    """The frames of a stream that a query asks for."""

    fps: float | None = None
    """Frames per second of media time; None: all."""
    motion_gate: bool = False
    """Only frames in which something moved."""


def thinned(query: Query) -> dict[str, Thinning]:
    """The streams of which a query asks for fewer frames. Every picture of a message stands alone: it is a keyframe."""
    wanted = {
        stream.id: Thinning(stream.sample.fps if isinstance(stream.sample, Fps) else None, stream.motion_gate)
        for stream in query.streams
    }
    return {stream: thinning for stream, thinning in wanted.items() if thinning != Thinning()}


@dataclass(slots=True)
class ThinnedStream:
    """How far a stream has come."""

    fps: float | None
    run: str | None = None
    taken_s: float | None = None
    """Media time of the last frame that was looked at; None where the run begins."""
    answered: Result | None = None
    """The last result of the worker before, until a later frame comes."""

    def before(self, result: Result) -> None:
        """Go on behind a frame that another worker has answered."""
        self.run, self.taken_s, self.answered = result.run, result.frame.media_time_s, result

    def leaves_out(self, header: FrameHeader) -> LeftOut | None:
        """Why a frame is not looked at; None where it is, which is noted."""
        if self.answered is not None:
            if _precedes(header, self.answered):
                return "repeated"
            self.answered = None
        if header.run != self.run:
            self.run, self.taken_s = header.run, None
        if self.fps is None or (header.sample_fps is not UNSET and header.sample_fps <= self.fps):
            return None
        now_s, taken_s = header.media_time_s, self.taken_s
        goes_on = taken_s is not None and now_s > taken_s - BACK_S
        if goes_on and interval_of(now_s, self.fps) <= interval_of(taken_s or 0.0, self.fps):
            return "sample"
        self.taken_s = now_s
        return None


class FrameSampling:
    """The streams of a query that are thinned; of others every frame is looked at."""

    def __init__(self, wanted: Mapping[str, Thinning] | None = None) -> None:
        """``wanted``: by stream."""
        self._wanted = wanted or {}
        self._streams: dict[str, ThinnedStream] = {}
        intervals = [1 / each.fps for each in self._wanted.values() if each.fps is not None]
        self.reach_s = min(max(intervals, default=0.0), LONGEST_INTERVAL_S)
        """How much older than a frame a result may be that decides whether it is looked at."""

    def before(self, result: Result) -> None:
        """Note what another worker has answered; called in the order of each stream."""
        if (stream := self._of(result.stream)) is not None:
            stream.before(result)

    def leaves_out(self, header: FrameHeader) -> LeftOut | None:
        """Why the frame is not looked at, by its header alone; called in the order of each stream."""
        stream = self._of(header.stream)
        return None if stream is None else stream.leaves_out(header)

    def gated(self, stream: str) -> Thinning | None:
        """How the stream is thinned, where that is by movement too."""
        wanted = self._wanted.get(stream)
        return wanted if wanted is not None and wanted.motion_gate else None

    def begin_anew(self) -> None:
        """Note that partitions moved: frames that were in work may come again, and others have answered some."""
        self._streams.clear()

    def forget(self, stream: str) -> None:
        self._streams.pop(stream, None)

    def _of(self, stream: str) -> ThinnedStream | None:
        if stream not in self._streams and (wanted := self._wanted.get(stream)) is not None:
            self._streams[stream] = ThinnedStream(wanted.fps)
        return self._streams.get(stream)


def _precedes(header: FrameHeader, answered: Result) -> bool:
    """Whether a frame lies before an answered one: a producer may have begun its numbers anew in the same run."""
    earlier = header.seq < answered.seq and header.captured_at <= answered.frame.captured_at
    return earlier and header.run == answered.run


GATE_BYTES: Final = 96 << 20
"""For all JPEGs that are decoded for gates at once, as if they were decoded whole; a larger one goes on unseen."""


@dataclass(slots=True)
class _Gate:
    passes: MotionGate = field(default_factory=MotionGate)
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)


class MotionGates:
    """Says in which frames nothing moves; for each stream in the order of the calls."""

    def __init__(self) -> None:
        self._streams: dict[str, dict[Thinning, _Gate]] = {}
        self._memory = ByteBudget(GATE_BYTES)

    async def still(self, thinning: Thinning, header: FrameHeader, data: bytes) -> bool:
        """Whether nothing moves in a frame that is left after ``thinning`` by rate.

        A picture that cannot be read goes on: what is wrong with it is told where it is decoded.
        """
        gate = self._streams.setdefault(header.stream, {}).setdefault(thinning, _Gate())
        async with gate.turn:
            size_bytes = 0 if header.raw else header.width * header.height * DECODING_BYTES_PER_PIXEL
            if header.encoding == "none" or header.motion_gate is True or size_bytes > GATE_BYTES:
                return False
            await self._memory.take(size_bytes)
            try:
                small = await in_thread(lambda: thumbnail(decode_frame(header, data, WIDTH).pixels))
                return not gate.passes.passes(small)
            except FrameError:
                return False
            finally:
                self._memory.give(size_bytes)

    def begin_anew(self) -> None:
        """Note that partitions moved: what was in work may come again, and passes again."""
        self._streams.clear()

    def forget(self, stream: str) -> None:
        self._streams.pop(stream, None)
