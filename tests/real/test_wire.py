"""The wire itself."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from tests.real.wire import wire

WAY_S = 0.05


async def test_all_comes_in_order_and_not_before_its_time() -> None:
    """Twenty parts are on the way at once: one after the other they would take twenty times as long."""

    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(100):
            writer.write(data)
        writer.close()

    server = await asyncio.start_server(echo, "127.0.0.1", 0)
    host, port = server.sockets[0].getsockname()
    async with server, wire(host, port, WAY_S) as between:
        reader, writer = await asyncio.open_connection("127.0.0.1", between.port)
        began_s = asyncio.get_running_loop().time()
        for number in range(20):
            writer.write(number.to_bytes(1, "big") * 50)
            await writer.drain()
        writer.write_eof()
        assert await reader.readexactly(1000) == b"".join(number.to_bytes(1, "big") * 50 for number in range(20))
        assert asyncio.get_running_loop().time() - began_s >= 2 * WAY_S
        assert not await reader.read(), "the end comes too"
        writer.close()


async def test_it_cuts_and_corrupts_as_it_is_told() -> None:
    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(100):
            writer.write(data)
        writer.close()

    server = await asyncio.start_server(echo, "127.0.0.1", 0)
    async with server, wire(*server.sockets[0].getsockname()) as between:
        reader, writer = await asyncio.open_connection("127.0.0.1", between.port)
        for corrupt, wrong in ((0.0, 0), (1.0, 2)):
            between.corrupt = corrupt
            writer.write(bytes(50))
            changed = [byte for byte in await reader.readexactly(50) if byte]
            assert len(changed) in {wrong, wrong // 2}, "one byte each way, perhaps the same"
            assert bool(changed) == bool(wrong)
        between.cut = 1.0
        writer.write(bytes(50))
        with suppress(ConnectionResetError):
            assert not await reader.read()
        writer.close()


async def test_a_server_that_is_gone_ends_the_connection() -> None:
    async with wire("127.0.0.1", 1, WAY_S) as between:
        reader, writer = await asyncio.open_connection("127.0.0.1", between.port)
        assert not await reader.read()
        writer.close()
