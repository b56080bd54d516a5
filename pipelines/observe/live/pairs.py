"""Frames and results come on different topics: they wait for each other here, within bounds. Pure."""

from __future__ import annotations

from collections import OrderedDict

from operators.wire.schema import FrameHeader, FrameId, Result

MOST_BYTES = 64 << 20
MOST_WAITING = 256
"""Frames, and results, that wait."""

Jpeg = tuple[FrameHeader, bytes]
Pair = tuple[Result, Jpeg]


class Pairs:
    """Gives each frame its result; those that waited longest go first."""

    def __init__(self, most_bytes: int = MOST_BYTES, most_waiting: int = MOST_WAITING) -> None:
        self._most_bytes, self._most = most_bytes, most_waiting
        self._frames: OrderedDict[FrameId, Jpeg] = OrderedDict()
        self._results: OrderedDict[FrameId, Result] = OrderedDict()
        self.bytes = 0
        """Size of the frames that wait."""

    def frame(self, header: FrameHeader, data: bytes) -> Pair | None:
        """Take a frame; returns it with its result where that has come."""
        key = header.id
        if (result := self._results.pop(key, None)) is not None:
            return result, (header, data)
        self._take(key)
        self._frames[key] = header, data
        self.bytes += len(data)
        while self._frames and (self.bytes > self._most_bytes or len(self._frames) > self._most):
            self._take(next(iter(self._frames)))
        return None

    def result(self, result: Result) -> Pair | None:
        """Take an analysed frame's result; returns it with the frame where that has come."""
        key = result.id
        if (found := self._take(key)) is not None:
            return result, found
        self._results[key] = result
        if len(self._results) > self._most:
            self._results.popitem(last=False)
        return None

    def clear(self) -> None:
        """Nobody looks any more."""
        self._frames.clear()
        self._results.clear()
        self.bytes = 0

    def _take(self, key: FrameId) -> Jpeg | None:
        found = self._frames.pop(key, None)
        self.bytes -= len(found[1]) if found else 0
        return found
