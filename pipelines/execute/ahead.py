"""The frames of a stream that have arrived and wait for their turn, for operators that look ahead."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from operators.frames.codec import FrameError
from operators.frames.frame import Frame
from operators.wire.schema import FrameHeader, FrameId
from serving.common.clock import SYSTEM, Clock

FRAMES_AHEAD = 40
"""Frames of a stream in memory at once."""
BYTES_AHEAD = 96 << 20
"""Memory that they take, 3 bytes a pixel."""
PATIENCE_S = 0.2
"""How long the next frame is waited for: the stream has ended, or its source is slower than the analysis."""
VAIN = 100
"""Looks ahead that do not wait for more frames than came, after one that waited in vain."""


def in_memory(size_bytes: int) -> int:
    """Return how many frames of this size a stream that is looked ahead in may have in memory."""
    return max(1, min(FRAMES_AHEAD, BYTES_AHEAD // max(size_bytes, 1)))


class Waiting:
    """One stream's frames with raw images, in the order of their arrival."""

    def __init__(self, clock: Clock = SYSTEM) -> None:
        self._clock = clock
        self._frames: dict[FrameId, tuple[FrameHeader, Callable[[], Frame]]] = {}
        self._at_hand: FrameHeader | None = None
        self._arrived = asyncio.Event()
        self._most, self._vain = FRAMES_AHEAD, 0

    def arrived(self, header: FrameHeader, load: Callable[[], Frame]) -> None:
        """Take a frame that will get its turn; ``load`` makes a view of its image, each time that it is called."""
        self._frames[header.id] = header, load
        self._arrived.set()

    def begun(self, header: FrameHeader) -> None:
        """Note that it is the frame's turn; nothing is seen behind one whose image is not raw."""
        self._at_hand = header if header.raw else None
        self.gone(header)

    def gone(self, header: FrameHeader) -> None:
        """Forget a frame that waits no more."""
        self._frames.pop(header.id, None)

    async def until(self, media_time_s: float) -> Sequence[Frame]:
        self._vain -= 1
        if self._vain <= 0:
            self._most = FRAMES_AHEAD
        while not self._enough(media_time_s):
            before = len(self._frames)
            await self._another()
            if len(self._frames) <= before:
                self._most, self._vain = len(self._frames), VAIN
                break
        return _loaded(self._run(), media_time_s)

    def _enough(self, media_time_s: float) -> bool:
        frames, at_hand = self._run(), self._at_hand
        most = min(self._most, in_memory(at_hand.width * at_hand.height * 3) - 1) if at_hand else 0
        ended = len(frames) < len(self._frames)
        return ended or len(frames) >= most or any(header.media_time_s >= media_time_s for header, _ in frames)

    def _run(self) -> list[tuple[FrameHeader, Callable[[], Frame]]]:
        """The frames of the run of the one at hand."""
        run = self._at_hand.run if self._at_hand else None
        frames = []
        for each in self._frames.values():
            if each[0].run != run:
                break
            frames.append(each)
        return frames

    async def _another(self) -> None:
        """Wait for a frame, but not long."""
        self._arrived.clear()
        timer = self._clock.call_at(self._clock.monotonic_s() + PATIENCE_S, self._arrived.set)
        try:
            await self._arrived.wait()
        finally:
            timer.cancel()


def _loaded(frames: Sequence[tuple[FrameHeader, Callable[[], Frame]]], media_time_s: float) -> list[Frame]:
    loaded = []
    for header, load in frames:
        try:
            loaded.append(load())
        except FrameError:
            break  # its own turn says so
        if header.media_time_s >= media_time_s:
            break
    return loaded
