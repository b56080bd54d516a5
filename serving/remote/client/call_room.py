"""The room for calls that are under way to one backend: bounded, and background work gets a part of it only."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from serving.errors import BackendDown, TooLate
from serving.scheduling.requests import Urgency

BACKGROUND_SHARE = 4
"""Audits and measurements may take this part of the room, rounded up to one call."""


class CallRoom:
    """Calls wait in their order for room."""

    def __init__(self, name: str, most: int) -> None:
        """``name``: the backend's, for errors."""
        self._name = name
        self._all = asyncio.Semaphore(most)
        self._background = asyncio.Semaphore(max(1, most // BACKGROUND_SHARE))

    @asynccontextmanager
    async def one(self, urgency: Urgency, within_s: float) -> AsyncIterator[None]:
        """Room for one call; TooLate for a droppable one, BackendDown for another, where there is none in this time."""
        rooms = [self._background, self._all] if urgency.background else [self._all]
        taken: list[asyncio.Semaphore] = []
        try:
            try:
                async with asyncio.timeout(within_s):
                    for room in rooms:
                        await room.acquire()
                        taken.append(room)
            except TimeoutError:
                if urgency.droppable:
                    raise TooLate(f"backend {self._name} has no room for a call in time") from None
                raise BackendDown(
                    f"backend {self._name}: no room for a call in {within_s:g} s (in_flight of the query)"
                ) from None
            yield
        finally:
            for room in taken:
                room.release()
