"""Who may come in: so many requests, with so much input, and none once the backend drains."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

from serving.errors import Unavailable
from serving.remote.server.refusals import BackendFull
from serving.remote.server.server_limits import ServerLimits

STARTING = "the backend is starting"


class Admission:
    """Used from one event loop."""

    def __init__(self, limits: ServerLimits) -> None:
        self._limits = limits
        self.requests = self.items = self.input_bytes = 0
        """In flight."""
        self.unready: str | None = STARTING
        """Why it should be sent no requests; None where it should."""
        self._draining: str | None = None
        self._idle = asyncio.Event()
        self._idle.set()

    def open(self) -> None:
        """All is loaded that should be: requests may come."""
        self.unready = self._draining

    def drain(self, reason: str) -> None:
        """Refuse further requests, for this reason; those in flight are answered."""
        self._draining = self.unready = reason

    async def idle(self) -> None:
        """Wait until none is in flight."""
        await self._idle.wait()

    @contextmanager
    def request(self) -> Iterator[None]:
        """One request is in flight while the block runs; raises BackendFull, or Unavailable once it drains."""
        if self._draining is not None:
            raise Unavailable(self._draining)
        if self.requests >= self._limits.in_flight:
            raise BackendFull(f"{self.requests} requests are in flight, and no more are taken")
        self.requests += 1
        self._idle.clear()
        try:
            yield
        finally:
            self.requests -= 1
            if not self.requests:
                self._idle.set()

    @contextmanager
    def room(self, items: int, input_bytes: int) -> Iterator[None]:
        """Room for the input of one of them; raises BackendFull where there is none."""
        if self.input_bytes + input_bytes > self._limits.input_bytes:
            raise BackendFull(
                f"{self.input_bytes} bytes are in flight: {input_bytes} more are above {self._limits.input_bytes}"
            )
        self.items += items
        self.input_bytes += input_bytes
        try:
            yield
        finally:
            self.items -= items
            self.input_bytes -= input_bytes
