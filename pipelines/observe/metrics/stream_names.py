"""Which streams have metrics of their own: as many as are allowed, so that no sender of names fills the memory."""

from __future__ import annotations

import threading

SHARED = ""
"""The name under which all further streams are counted. No stream has it: their ids are not empty."""


class StreamNames:
    """Admits streams up to a number; any thread may ask."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._names: set[str] = set()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._names)

    def label(self, stream: str) -> str:
        """The stream's own name, or ``SHARED`` where too many have come before it."""
        if stream in self._names:
            return stream
        with self._lock:
            if len(self._names) >= self._most:
                return SHARED
            self._names.add(stream)
            return stream

    def release(self, stream: str) -> None:
        """The stream is gone: another one may take its place."""
        with self._lock:
            self._names.discard(stream)
