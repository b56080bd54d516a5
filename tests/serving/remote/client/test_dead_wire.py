"""A wire that is cut without a word: the connection is found to be dead, and another one is made."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import numpy as np

from serving.catalogue.lookup import Catalogue
from serving.remote.client.server_channel import ServerChannel
from serving.scheduling.requests import Urgency
from tests.serving.remote.client.conftest import Connected
from tests.serving.remote.v2_server import V2Server, means_of_ours, serving

PICTURES = np.arange(2 * 4 * 4 * 3, dtype=np.uint8).reshape(2, 4, 4, 3)


class Wire:
    """Carries bytes to a server; once cut, what connections there are carry nothing more and stay open."""

    def __init__(self, port: int) -> None:
        self._to, self.port = port, 0
        self.connections = 0
        self._cut = asyncio.Event()
        self._writers: list[asyncio.StreamWriter] = []

    def cut(self) -> None:
        """Connections that are made from now on carry again."""
        self._cut, before = asyncio.Event(), self._cut
        before.set()

    @asynccontextmanager
    async def laid(self) -> AsyncIterator[None]:
        server = await asyncio.start_server(self._connected, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        try:
            yield
        finally:
            for writer in self._writers:
                writer.transport.abort()
            server.close()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        cut = self._cut
        there_reader, there_writer = await asyncio.open_connection("127.0.0.1", self._to)
        self._writers += [writer, there_writer]
        await asyncio.gather(self._carried(reader, there_writer, cut), self._carried(there_reader, writer, cut))

    async def _carried(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, cut: asyncio.Event) -> None:
        while data := await reader.read(1 << 16):
            if not cut.is_set():
                writer.write(data)


async def turned(channel: ServerChannel, ready: bool) -> None:
    async with asyncio.timeout(120):
        while channel.ready is not ready:  # noqa: ASYNC110  (it is asked by itself)
            await asyncio.sleep(0.05)


async def test_a_server_behind_a_wire_that_was_cut_is_ready_again_by_itself(
    catalogue: Catalogue, connected: Connected
) -> None:
    server = V2Server({"means": means_of_ours(catalogue.find("means").card)})
    async with serving(server):
        wire = Wire(server.port)
        async with wire.laid():
            reached = V2Server({}, port=wire.port)  # its address alone
            async with connected(reached) as client:
                await client.load("means")
                before = wire.connections
                wire.cut()
                (channel,) = client._servers._servers.values()
                await turned(channel, ready=False)
                await turned(channel, ready=True)
                (answer,) = await client.infer("means", PICTURES, Urgency(math.inf))
                assert np.array_equal(answer, PICTURES.astype(np.float32).mean((1, 2)))
                assert wire.connections > before
