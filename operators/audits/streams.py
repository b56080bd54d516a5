"""The streams of a node that saves work, including those that are gone: the one owner of their state. Bounded."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Generic, TypeVar

REMEMBERED_STREAMS = 1000
"""Number of gone streams that are kept for the report."""

S = TypeVar("S")


class Streams(Generic[S]):
    """The streams that are here, and the latest of those that are gone.

    >>> streams = Streams(str.upper)
    >>> streams.enter("gate"), streams.leave("gate"), streams.known(gone=False), streams.known(gone=True)
    ('GATE', None, {}, {'gate': 'GATE'})
    """

    def __init__(self, fresh: Callable[[str], S]) -> None:
        """``fresh``: makes the state of a new stream."""
        self._fresh = fresh
        self._here: dict[str, S] = {}
        self._gone: dict[str, S] = {}

    def here(self, name: str) -> S | None:
        return self._here.get(name)

    def enter(self, name: str) -> S:
        """Return the stream of a frame; a stream that was gone begins anew."""
        found = self._here.get(name)
        return self.renew(name) if found is None else found

    def renew(self, name: str) -> S:
        """Begin anew with a stream, and forget it as it was."""
        self._gone.pop(name, None)
        self._here[name] = self._fresh(name)
        return self._here[name]

    def leave(self, name: str) -> None:
        """Note that the stream is gone; it stays for the report."""
        stream = self._here.pop(name, None)
        if stream is not None:
            self._gone[name] = stream
        while len(self._gone) > REMEMBERED_STREAMS:
            del self._gone[next(iter(self._gone))]

    def is_here(self, name: str, stream: S) -> bool:
        """Whether this object is in use, rather than gone or replaced."""
        return self._here.get(name) is stream

    def known(self, gone: bool = True) -> Mapping[str, S]:
        """Return all streams by name; with ``gone`` including those that are gone."""
        return {**self._gone, **self._here} if gone else self._here
