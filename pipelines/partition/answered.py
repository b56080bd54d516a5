"""Frames that have results, and the last results of streams: so many, and no more. Pure."""

from __future__ import annotations

from collections import OrderedDict, deque

MAX_ANSWERED = 500_000
"""Number of frames that are kept; a frame that is dropped is analysed again, to a result with the same key."""
RUN_COSTS = 8
"""Memory of a run besides its frames, counted in frames."""
RECENT_RESULTS = 50
"""Number of results that are kept for each stream to resume its tracks."""
MAX_RECENT_BYTES = 64 << 20
"""Memory for the last results of all streams together."""
RESULT_OVERHEAD_BYTES = 500

Run = tuple[str, str]
"""Stream and run."""


class Answered:
    """A set of frames; where there are too many, those of the run that was met first go."""

    def __init__(self, max_frames: int = MAX_ANSWERED) -> None:
        self._max_frames = max_frames
        self._runs: OrderedDict[Run, set[int]] = OrderedDict()
        self._frames = 0
        self.left_out = 0
        """Number of frames that were dropped."""

    def __len__(self) -> int:
        return self._frames

    def add(self, run: Run, seq: int) -> None:
        """Note that the frame has a result."""
        seqs = self._runs.setdefault(run, set())
        self._frames += seq not in seqs
        seqs.add(seq)
        while self._frames + RUN_COSTS * len(self._runs) > self._max_frames:
            _, gone = self._runs.popitem(last=False)
            self._frames -= len(gone)
            self.left_out += len(gone)

    def take(self, run: Run, seq: int) -> bool:
        """Remove the frame; returns whether it was in the set."""
        seqs = self._runs.get(run, set())
        if seq not in seqs:
            return False
        seqs.discard(seq)
        self._frames -= 1
        if not seqs:
            del self._runs[run]
        return True


class RecentResults:
    """The last messages of each stream; where they are too many bytes, streams go, silent ones first."""

    def __init__(self, max_bytes: int = MAX_RECENT_BYTES) -> None:
        self._max_bytes = max_bytes
        self._streams: OrderedDict[str, deque[bytes]] = OrderedDict()
        self.size_bytes = 0

    def add(self, stream: str, value: bytes) -> None:
        """Add the stream's latest message."""
        values = self._streams.setdefault(stream, deque())
        self._streams.move_to_end(stream)
        values.append(value)
        self.size_bytes += _size(value)
        if len(values) > RECENT_RESULTS:
            self.size_bytes -= _size(values.popleft())
        while self.size_bytes > self._max_bytes:
            silent = next(iter(self._streams))
            if silent == stream:
                self.size_bytes -= _size(values.popleft())
            else:
                self.pop(silent)

    def pop(self, stream: str) -> list[bytes]:
        """Remove and return a stream's messages in order."""
        values = self._streams.pop(stream, deque())
        self.size_bytes -= sum(map(_size, values))
        return list(values)


def _size(value: bytes) -> int:
    return len(value) + RESULT_OVERHEAD_BYTES
