"""The bounds of a backend, and who may come in: no more than that, and none once it drains."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from serving.errors import Unavailable
from serving.remote.protocol.parameters import WireLimits
from serving.remote.server.refusals import BackendFull

LARGEST_INPUTS = 8
"""The inputs of all requests in flight may take so many times as much as the largest one."""
FLOAT_BYTES = 4
"""A picture that comes as bytes is a network's input of so many for each of them."""


@dataclass(frozen=True, slots=True)
class ServerLimits:
    """More than this is refused."""

    in_flight: int = 64
    """Requests for inference that wait or are run."""
    networks: int = 256
    """Networks and variants of them that are described and run, over the life of the backend."""
    regions: int = 512
    """Regions of shared memory; the one that was used longest ago makes room."""
    connections: int = 256
    """Over gRPC; further ones are closed at once."""
    wire: WireLimits = field(default_factory=WireLimits)

    @property
    def input_bytes(self) -> int:
        """The inputs of all networks that requests in flight may take together."""
        return LARGEST_INPUTS * FLOAT_BYTES * self.wire.message_bytes


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
