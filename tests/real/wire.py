"""A wire between a client and a server: what goes over it comes later, and may be cut or corrupted."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from random import Random
from threading import Thread

CHUNK, MOST_ON_THE_WAY = 4096, 65536


class Wire:
    """A TCP proxy on loopback, as bad as its attributes say at the moment."""

    def __init__(self, host: str, port: int, way_s: float, rng: Random) -> None:
        """``way_s``: each chunk takes so long, however many are on the way."""
        self._to, self._way_s, self._rng = (host, port), way_s, rng
        self.port = 0
        self.shaken_s = 0.0
        """Up to so much longer; chunks stay in order."""
        self.cut = self.corrupt = 0.0
        """Chance that a connection ends with a chunk, and that one byte of it is another."""
        self._ways: set[asyncio.Task[None]] = set()

    async def met(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Join a client with the server."""
        try:
            there, back = await asyncio.open_connection(*self._to)
        except OSError:
            writer.close()
            return
        both = asyncio.create_task(self._join((reader, back), (there, writer)))
        self._ways.add(both)
        both.add_done_callback(self._ways.discard)

    async def _join(self, *ways: tuple[asyncio.StreamReader, asyncio.StreamWriter]) -> None:
        """Pass on both ways until each has come to its end, or the connection is broken."""
        passing, ends_well = [asyncio.create_task(self._pass_on(*each)) for each in ways], False
        try:
            with suppress(OSError):
                await asyncio.gather(*passing)
                ends_well = True
        finally:
            for each in passing:
                each.cancel()
            for _, target in ways:
                target.close() if ends_well else target.transport.abort()

    async def _pass_on(self, source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
        """OSError where the connection breaks."""
        loop, coming = asyncio.get_running_loop(), asyncio.Queue[tuple[float, bytes]](MOST_ON_THE_WAY)

        async def read() -> None:
            data = b"-"
            while data:
                try:
                    data = await source.read(CHUNK)
                except OSError:
                    data = b""
                await coming.put((loop.time() + self._way_s + self.shaken_s * self._rng.random(), data))

        reading = asyncio.create_task(read())
        try:
            while (arrival := await coming.get())[1]:
                await asyncio.sleep(arrival[0] - loop.time())
                target.write(self._as_it_comes(arrival[1]))
                await target.drain()
            target.write_eof()
        finally:
            reading.cancel()

    def _as_it_comes(self, data: bytes) -> bytes:
        if self._rng.random() < self.cut:
            raise ConnectionAbortedError
        if self._rng.random() >= self.corrupt:
            return data
        at = self._rng.randrange(len(data))
        return data[:at] + bytes([data[at] ^ (1 + self._rng.randrange(255))]) + data[at + 1 :]

    async def close(self) -> None:
        """End all connections."""
        for way in list(self._ways):
            way.cancel()
        await asyncio.gather(*self._ways, return_exceptions=True)


@asynccontextmanager
async def wire(host: str, port: int, way_s: float = 0.0, seed: int = 0) -> AsyncIterator[Wire]:
    """The wire, good at first; a question and its answer take twice ``way_s`` more."""
    between = Wire(host, port, way_s, Random(seed))
    server = await asyncio.start_server(between.met, "127.0.0.1", 0)
    between.port = server.sockets[0].getsockname()[1]
    async with server:
        try:
            yield between
        finally:
            server.close()
            await between.close()


@contextmanager
def wire_beside(address: str, way_s: float) -> Iterator[str]:
    """The same to ``HOST:PORT``, in a thread of its own; the address to ask instead."""
    loop = asyncio.new_event_loop()
    thread = Thread(target=loop.run_forever, name="wire")
    thread.start()
    host, _, port = address.rpartition(":")
    between = wire(host, int(port), way_s)
    try:
        found = asyncio.run_coroutine_threadsafe(between.__aenter__(), loop).result()
        try:
            yield f"127.0.0.1:{found.port}"
        finally:
            asyncio.run_coroutine_threadsafe(between.__aexit__(None, None, None), loop).result()
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
