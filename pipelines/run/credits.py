"""How much may be on its way between capture and result, so that a source waits instead of a log losing frames."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable


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
