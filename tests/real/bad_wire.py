"""A wire between a client and a server that delays, cuts and corrupts what goes over it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from random import Random

CHUNK = 4096


class BadWire:
    """A TCP proxy on loopback, as bad as its attributes say at the moment."""

    def __init__(self, host: str, port: int, rng: Random) -> None:
        self._to, self._rng = (host, port), rng
        self.port = 0
        self.delay_s = 0.0
        """Before each chunk goes on."""
        self.cut = self.corrupt = 0.0
        """Chance that a connection ends with a chunk, and that one byte of it is another."""
        self._ways: set[asyncio.Task[None]] = set()
        self._writers: set[asyncio.StreamWriter] = set()

    async def met(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Join a client with the server."""
        try:
            there, back = await asyncio.open_connection(*self._to)
        except OSError:
            writer.close()
            return
        self._writers |= {writer, back}
        for source, target in ((reader, back), (there, writer)):
            way = asyncio.create_task(self._pass_on(source, target, writer, back))
            self._ways.add(way)
            way.add_done_callback(self._ways.discard)

    async def _pass_on(
        self, source: asyncio.StreamReader, target: asyncio.StreamWriter, *ends: asyncio.StreamWriter
    ) -> None:
        with suppress(OSError):
            while data := await source.read(CHUNK):
                await asyncio.sleep(self.delay_s * self._rng.random())
                if self._rng.random() < self.cut:
                    break
                if self._rng.random() < self.corrupt:
                    at = self._rng.randrange(len(data))
                    data = data[:at] + bytes([data[at] ^ (1 + self._rng.randrange(255))]) + data[at + 1 :]
                target.write(data)
                await target.drain()
        for end in ends:
            end.transport.abort()
            self._writers.discard(end)

    async def close(self) -> None:
        """End all connections."""
        for writer in list(self._writers):
            writer.transport.abort()
        for way in list(self._ways):
            way.cancel()
        await asyncio.gather(*self._ways, return_exceptions=True)


@asynccontextmanager
async def bad_wire(host: str, port: int, seed: int = 0) -> AsyncIterator[BadWire]:
    """The wire, good at first."""
    wire = BadWire(host, port, Random(seed))
    server = await asyncio.start_server(wire.met, "127.0.0.1", 0)
    wire.port = server.sockets[0].getsockname()[1]
    async with server:
        try:
            yield wire
        finally:
            server.close()
            await wire.close()
