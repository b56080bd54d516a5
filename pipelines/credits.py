"""How much may be on its way between capture and result, so that a source waits instead of a log losing frames."""

from __future__ import annotations

import threading
from collections import Counter


class Credits:
    """Bounds frames in flight per stream, and bytes over all streams; every stream may always have one frame.

    ``take`` is called by capture threads, ``give`` when a frame's result has come.
    """

    def __init__(self, frames_per_stream: int, max_bytes: int) -> None:
        self._frames_per_stream = frames_per_stream
        self._max_bytes = max_bytes
        self._changed = threading.Condition()
        self._frames: Counter[str] = Counter()
        self._bytes = 0
        self._closed = False

    def take(self, stream: str, size_bytes: int) -> bool:
        """Wait until the frame may go; False once closed."""
        with self._changed:
            self._changed.wait_for(lambda: self._closed or self._allowed(stream, size_bytes))
            if self._closed:
                return False
            self._frames[stream] += 1
            self._bytes += size_bytes
            return True

    def give(self, stream: str, size_bytes: int) -> None:
        """A frame of this size has its result."""
        with self._changed:
            self._frames[stream] -= 1
            self._bytes -= size_bytes
            self._changed.notify_all()

    def close(self) -> None:
        """End all waiting."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def _allowed(self, stream: str, size_bytes: int) -> bool:
        frames = self._frames[stream]
        return frames == 0 or (frames < self._frames_per_stream and self._bytes + size_bytes <= self._max_bytes)
