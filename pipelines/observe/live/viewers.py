"""Who looks at the page, and what waits to be sent to each: the newest of a kind, so a slow reader holds little."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

MOST_VIEWERS = 16
MOST_WAITING = 512
"""Messages that wait for one viewer: more than there are streams on the wall."""


class TooManyViewers(Exception):
    """Nobody else may look."""


class Viewer:
    """One open page."""

    def __init__(self, stream: str | None) -> None:
        self.stream = stream
        """The stream that is looked at; None: the wall."""
        self._waiting: dict[str, bytes] = {}
        self._news = asyncio.Event()

    def send(self, key: str, event: str, data: bytes) -> None:
        """Send an event; it takes the place of one of the same key that has not gone yet."""
        if key in self._waiting or len(self._waiting) < MOST_WAITING:
            self._waiting[key] = b"event: %s\ndata: %s\n\n" % (event.encode(), data)
            self._news.set()

    async def next(self) -> bytes:
        await self._news.wait()
        self._news.clear()
        found, self._waiting = self._waiting, {}
        return b"".join(found.values())


class Viewers:
    def __init__(self, most: int = MOST_VIEWERS) -> None:
        self._most = most
        self._open: list[Viewer] = []
        self.changed = asyncio.Event()
        """Set when a viewer comes or goes."""

    def __len__(self) -> int:
        return len(self._open)

    def __iter__(self) -> Iterator[Viewer]:
        return iter(tuple(self._open))

    @contextmanager
    def looking(self, stream: str | None) -> Iterator[Viewer]:
        """A viewer while the block runs; raises ``TooManyViewers``."""
        if len(self._open) >= self._most:
            raise TooManyViewers
        viewer = Viewer(stream)
        self._open.append(viewer)
        self.changed.set()
        try:
            yield viewer
        finally:
            self._open.remove(viewer)
            self.changed.set()
