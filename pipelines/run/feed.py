"""The way of frames from capture threads to the event loop. Capture waits here, so that nothing sampled is lost."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import dataclass

from operators.frames.codec import as_jpeg
from operators.frames.frame import Frame
from operators.wire.schema import FrameHeader
from pipelines.execute.ahead import in_memory
from serving.common.clock import SYSTEM, Clock


class Credits:
    """Bounds frames in flight per stream, and bytes over all streams; every stream may always have one frame.

    ``take`` is called by capture threads, one for each stream, ``give`` when a frame's result has come.
    """

    def __init__(self, frames: Callable[[str, int], int], max_bytes: int) -> None:
        """``frames``: how many a stream may have, of so many bytes each."""
        self._most = frames
        self._max_bytes = max_bytes
        self._lock = threading.Lock()
        self._waiting: dict[str, tuple[int, threading.Condition]] = {}
        self._frames: Counter[str] = Counter()
        self._bytes = 0
        self._closed = False

    def take(self, stream: str, size_bytes: int) -> bool:
        """Wait until the frame may go; False once closed."""
        with self._lock:
            if not self._closed and not self._allowed(stream, size_bytes):
                self._wait(stream, size_bytes)
            if self._closed:
                return False
            self._frames[stream] += 1
            self._bytes += size_bytes
            return True

    def give(self, stream: str, size_bytes: int) -> None:
        """A frame of this size has its result."""
        with self._lock:
            self._frames[stream] -= 1
            self._bytes -= size_bytes
            # Those alone who may go: waking every stream's thread for each frame costs more than a frame's bookkeeping.
            for waiting, (wanted_bytes, changed) in self._waiting.items():
                if self._allowed(waiting, wanted_bytes):
                    changed.notify()

    def close(self) -> None:
        """End all waiting."""
        with self._lock:
            self._closed = True
            for _, changed in self._waiting.values():
                changed.notify()

    def _wait(self, stream: str, size_bytes: int) -> None:
        changed = threading.Condition(self._lock)
        self._waiting[stream] = size_bytes, changed
        changed.wait_for(lambda: self._closed or self._allowed(stream, size_bytes))
        del self._waiting[stream]

    def _allowed(self, stream: str, size_bytes: int) -> bool:
        frames = self._frames[stream]
        return frames == 0 or (frames < self._most(stream, size_bytes) and self._bytes + size_bytes <= self._max_bytes)


FRAMES_IN_FLIGHT = 3
"""Per stream, between capture and result: one decoded, one waiting, one analysed. More would only make them older."""
MAX_BYTES = 64 << 20
"""Bound on the pictures in flight where no stream is looked ahead in."""


@dataclass(frozen=True, slots=True, eq=False)
class Sampled:
    header: FrameHeader
    frame: Frame | None
    """None where there was no room for its picture."""
    size_bytes: int
    """Memory of the picture."""


class Feed:
    """``emit`` and ``drop`` are for capture threads, all else is for the event loop of ``take``."""

    def __init__(
        self,
        take: Callable[[Sampled], None],
        max_bytes: int,
        ahead: Collection[str] = (),
        recorded: bool = False,
        clock: Clock = SYSTEM,
    ) -> None:
        """``take`` gets the frames on the running event loop, those of a stream in their order.

        ``ahead``: streams that are looked ahead in, whose frames wait for those behind them. ``recorded``: whether
        frames are kept, so that they go as their JPEGs show them.
        """
        self._take = take
        self._loop = asyncio.get_running_loop()
        self._ahead, self._recorded = ahead, recorded
        self._credits = Credits(self._most, max_bytes)
        self._in_flight = 0
        self._moved_s = clock.monotonic_s()
        self._clock = clock
        self._answered = asyncio.Event()

    def emit(self, frame: Frame) -> None:
        """Wait until the frame may go, then hand it over with its pixels, which must not change any more."""
        if self._recorded:
            frame = as_jpeg(frame)
        size_bytes = frame.pixels.nbytes + len(frame.jpeg or b"")
        if self._credits.take(frame.stream, size_bytes):
            self._send(Sampled(frame.header, frame, size_bytes))

    def drop(self, header: FrameHeader) -> None:
        """Hand over a sampled frame for whose picture there was no room: it becomes a ``dropped`` result."""
        self._send(Sampled(header, None, 0))

    def answered(self, sampled: Sampled) -> None:
        """The frame has its result: another one may come in its place."""
        self._in_flight -= 1
        self._moved_s = self._clock.monotonic_s()
        self._answered.set()
        if sampled.size_bytes:
            self._credits.give(sampled.header.stream, sampled.size_bytes)

    @property
    def stands_s(self) -> float:
        """Seconds for which frames have been in flight and none was answered."""
        return self._clock.monotonic_s() - self._moved_s if self._in_flight else 0.0

    async def emptied(self) -> None:
        """Return when every frame has its result."""
        while self._in_flight:
            self._answered.clear()
            await self._answered.wait()

    def close(self) -> None:
        """Let waiting threads go; their frames are not sent."""
        self._credits.close()

    def _most(self, stream: str, size_bytes: int) -> int:
        return max(FRAMES_IN_FLIGHT, in_memory(size_bytes) if stream in self._ahead else 0)

    def _send(self, sampled: Sampled) -> None:
        with suppress(RuntimeError):  # the loop is closed: the run has ended without this stream
            self._loop.call_soon_threadsafe(self._arrived, sampled)

    def _arrived(self, sampled: Sampled) -> None:
        if not self._in_flight:
            self._moved_s = self._clock.monotonic_s()
        self._in_flight += 1
        self._take(sampled)
