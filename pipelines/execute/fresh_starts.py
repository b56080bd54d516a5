"""When a node begins anew with a stream, since what it knows of it may be what makes it fail. Pure."""

from __future__ import annotations

from collections import Counter, defaultdict

from serving.errors import SluiceError

AFTER = 3
"""Frames of a stream that fail running for a reason that nobody foresaw."""


class FreshStarts:
    """Counts the failures of nodes by stream. An error that says what is wrong, as of an engine, is no reason."""

    def __init__(self) -> None:
        self._failures: defaultdict[str, Counter[str]] = defaultdict(Counter)

    def failed(self, stream: str, node: str, error: Exception) -> bool:
        """A frame failed at the node: whether the node should drop what it knows of the stream."""
        if isinstance(error, SluiceError):
            return False
        failures = self._failures[stream]
        failures[node] = (failures[node] + 1) % AFTER
        return failures[node] == 0

    def went_well(self, stream: str, node: str) -> None:
        """A frame passed the node."""
        if stream in self._failures:
            self._failures[stream].pop(node, None)

    def forget(self, stream: str) -> None:
        """Drop the counts of a stream."""
        self._failures.pop(stream, None)
