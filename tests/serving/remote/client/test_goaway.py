"""A server takes leave with words that a terminal would act upon."""

from __future__ import annotations

import asyncio
import struct
import sys

import pytest

CALL = """
import asyncio, sys
from serving.remote.protocol.service import SERVER_READY
from serving.remote.protocol.inference_pb2 import ServerReadyRequest
import grpc.aio

async def main():
    async with grpc.aio.insecure_channel(sys.argv[1]) as channel:
        try:
            await SERVER_READY.on(channel)(ServerReadyRequest(), timeout=60)
        except grpc.aio.AioRpcError as error:
            print("EVIL" in error.details())

asyncio.run(main())
"""
WORDS = b"\x1b[31mEVIL\nsluice: a line that nobody wrote\x07"


def frame(kind: int, payload: bytes) -> bytes:
    return struct.pack(">I", len(payload))[1:] + bytes([kind, 0]) + bytes(4) + payload


async def take_leave(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(frame(4, b""))
    await reader.readuntil(b"ServerReady")  # the call has come
    writer.write(frame(7, struct.pack(">II", 0, 2) + WORDS))
    await writer.drain()
    writer.close()


@pytest.mark.timeout(120)
async def test_the_words_of_a_server_do_not_reach_the_terminal() -> None:
    async with await asyncio.start_server(take_leave, "127.0.0.1", 0) as server:
        host, port = server.sockets[0].getsockname()
        child = await asyncio.create_subprocess_exec(
            sys.executable, "-c", CALL, f"{host}:{port}",
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        )  # fmt: skip
        assert await child.communicate() == (b"True\n", b"")
