"""A wire between a client and a server that is long: whatever goes over it comes whole, in order, and later."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from threading import Thread

CHUNK, MOST_ON_THE_WAY = 1 << 16, 4096


class SlowWire:
    """A TCP proxy on loopback. Each chunk takes ``way_s``, however many are on the way."""

    def __init__(self, host: str, port: int, way_s: float) -> None:
        self._to, self._way_s = (host, port), way_s
        self.port = 0
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
        try:
            await asyncio.gather(*(self._pass_on(source, target) for source, target in ways))
        finally:
            for _, target in ways:
                target.close()

    async def _pass_on(self, source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
        loop, coming = asyncio.get_running_loop(), asyncio.Queue[tuple[float, bytes]](MOST_ON_THE_WAY)

        async def read() -> None:
            data = b"-"
            while data:
                try:
                    data = await source.read(CHUNK)
                except OSError:
                    data = b""
                await coming.put((loop.time() + self._way_s, data))

        reading = asyncio.create_task(read())
        try:
            with suppress(OSError):
                while (arrival := await coming.get())[1]:
                    await asyncio.sleep(arrival[0] - loop.time())
                    target.write(arrival[1])
                    await target.drain()
                target.write_eof()
        finally:
            reading.cancel()

    async def close(self) -> None:
        """End all connections."""
        for way in list(self._ways):
            way.cancel()
        await asyncio.gather(*self._ways, return_exceptions=True)


@asynccontextmanager
async def slow_wire(host: str, port: int, way_s: float) -> AsyncIterator[SlowWire]:
    """The wire; a question and its answer take twice ``way_s`` more."""
    wire = SlowWire(host, port, way_s)
    server = await asyncio.start_server(wire.met, "127.0.0.1", 0)
    wire.port = server.sockets[0].getsockname()[1]
    async with server:
        try:
            yield wire
        finally:
            server.close()
            await wire.close()


@contextmanager
def slow_wire_beside(address: str, way_s: float) -> Iterator[str]:
    """The same to ``HOST:PORT``, in a thread of its own; the address to ask instead."""
    loop = asyncio.new_event_loop()
    thread = Thread(target=loop.run_forever, name="slow wire")
    thread.start()
    host, _, port = address.rpartition(":")
    wire = slow_wire(host, int(port), way_s)
    try:
        found = asyncio.run_coroutine_threadsafe(wire.__aenter__(), loop).result()
        try:
            yield f"127.0.0.1:{found.port}"
        finally:
            asyncio.run_coroutine_threadsafe(wire.__aexit__(None, None, None), loop).result()
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
