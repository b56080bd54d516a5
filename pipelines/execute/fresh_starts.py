"""When a node drops its state of a stream, because that state may be what makes it fail. Pure."""

from __future__ import annotations

from collections import Counter, defaultdict

from serving.errors import SluiceError

AFTER = 3
"""Consecutive frames of a stream that fail for an unforeseen reason."""


class FreshStarts:
    """Counts the failures of nodes by stream, except errors that say what is wrong, such as an engine's."""

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
        if stream in self._failures:
            self._failures[stream].pop(node, None)

    def forget(self, stream: str) -> None:
        self._failures.pop(stream, None)
