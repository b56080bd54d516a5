"""Notifies several listeners of changes."""

from __future__ import annotations

import asyncio


class News:
    """Notifies listeners, each of which has its own event."""

    def __init__(self) -> None:
        self._listeners: list[asyncio.Event] = []

    def listen(self) -> asyncio.Event:
        """Return an event that is set at every change; the caller clears it."""
        self._listeners.append(asyncio.Event())
        return self._listeners[-1]

    def notify(self) -> None:
        """Set the events of all listeners."""
        for listener in self._listeners:
            listener.set()
