"""Who may call: a token, certificates of clients, and health for everybody."""

from __future__ import annotations

import asyncio
import subprocess
from pathlib import Path

import grpc.aio
import pytest

from serving.errors import BadInput
from serving.remote.peers import ServerTls
from serving.remote.protocol import inference_pb2 as pb
from serving.remote.protocol.service import SERVER_READY
from serving.remote.server import grpc_server
from serving.remote.server.admission import ServerLimits
from serving.remote.server.grpc_server import HEALTH, NOT_SERVING, SERVING, GrpcAddress, grpc_serving
from tests.models import mean_model
from tests.serving.remote.server.running import asking, means, pictures, served

TOKEN = "a token of many characters"
READY = pb.ServerReadyRequest()


@pytest.mark.parametrize(
    "given",
    [
        [],
        [("authorization", f"Bearer {TOKEN[:-1]}")],
        [("authorization", TOKEN)],
        [("authorization", f"Bearer {TOKEN}")] * 2,
        [("authorization-bin", TOKEN.encode())],
    ],
)
async def test_without_the_token_nothing_is_answered(tmp_path: Path, given: list[tuple[str, str | bytes]]) -> None:
    async with served(mean_model(tmp_path), tmp_path, token=TOKEN) as server:
        with pytest.raises(grpc.aio.AioRpcError, match="give the backend's token") as refused:
            await SERVER_READY.on(server.channel)(READY, metadata=given)
        assert refused.value.code() is grpc.StatusCode.UNAUTHENTICATED
        assert TOKEN not in str(refused.value)
        with pytest.raises(grpc.aio.AioRpcError, match="give the backend's token"):
            await server.infer(asking("means", pictures(1)))


async def test_with_the_token_it_answers_and_health_needs_none(tmp_path: Path) -> None:
    async with served(mean_model(tmp_path), tmp_path, token=TOKEN) as server:
        metadata = [("authorization", f"Bearer {TOKEN}")]
        assert (await SERVER_READY.on(server.channel)(READY, metadata=metadata)).ready
        check = server.channel.unary_unary(f"/{HEALTH}/Check")
        assert await check(b"") == SERVING
        server.service.admission.drain("it ends")
        assert await check(b"") == NOT_SERVING
        assert not (await SERVER_READY.on(server.channel)(READY, metadata=metadata)).ready


def certificates(folder: Path) -> dict[str, bytes]:
    """An authority, ``ca``, with a certificate of ``localhost`` and one of a client; and another authority: by file."""

    def openssl(*arguments: str) -> None:
        subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True)

    key = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-noenc")
    signs = ("-addext", "keyUsage=critical,keyCertSign")
    for name in ("ca", "other"):
        openssl("req", "-x509", *key, "-keyout", f"{name}.key", "-out", f"{name}.pem", "-subj", f"/CN={name}", *signs)
    for name in ("server", "client"):
        openssl(
            *("req", "-x509", *key, "-CA", "ca.pem", "-CAkey", "ca.key", "-keyout", f"{name}.key"),
            *("-out", f"{name}.pem", "-subj", f"/CN={name}", "-addext", "subjectAltName=DNS:localhost"),
            *("-addext", "basicConstraints=critical,CA:FALSE"),
        )
    return {file.name: file.read_bytes() for file in folder.glob("*.*")}


async def test_clients_show_a_certificate_where_it_is_asked_for(tmp_path: Path) -> None:
    pem = certificates(tmp_path)
    tls = ServerTls(pem["server.pem"], pem["server.key"], pem["ca.pem"])
    assert "PRIVATE" not in repr(tls)
    async with served(mean_model(tmp_path / "models"), tmp_path / "cache", tls=tls) as server:
        at, options = f"127.0.0.1:{server.port}", [("grpc.ssl_target_name_override", "localhost")]
        known = grpc.ssl_channel_credentials(pem["ca.pem"], pem["client.key"], pem["client.pem"])
        async with grpc.aio.secure_channel(at, known, options) as channel:
            assert (await SERVER_READY.on(channel)(READY)).ready
        for stranger in (
            grpc.ssl_channel_credentials(pem["ca.pem"]),
            grpc.ssl_channel_credentials(pem["ca.pem"], pem["other.key"], pem["other.pem"]),
        ):
            async with grpc.aio.secure_channel(at, stranger, options) as channel:
                with pytest.raises(grpc.aio.AioRpcError) as refused:
                    await SERVER_READY.on(channel)(READY, timeout=20)
            assert refused.value.code() is grpc.StatusCode.UNAVAILABLE


async def test_an_address_that_is_taken_is_one_line(tmp_path: Path) -> None:
    async with means(tmp_path) as server:
        with pytest.raises(BadInput, match=f"cannot listen on 127.0.0.1:{server.port}: it is in use"):
            async with grpc_serving(GrpcAddress(f"127.0.0.1:{server.port}"), server.service, ServerLimits()):
                pass


async def test_a_socket_of_the_file_system_is_its_users_alone(tmp_path: Path) -> None:
    path = tmp_path / "sluice.sock"
    async with means(tmp_path) as server, grpc_serving(GrpcAddress(f"unix:{path}"), server.service, ServerLimits()):
        assert path.stat().st_mode & 0o077 == 0
        async with grpc.aio.insecure_channel(f"unix:{path}") as channel:
            assert (await SERVER_READY.on(channel)(READY)).ready


async def test_connections_are_bounded(tmp_path: Path) -> None:
    async with served(mean_model(tmp_path / "models"), tmp_path / "cache", ServerLimits(connections=1)) as server:
        assert (await SERVER_READY.on(server.channel)(READY)).ready
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        try:
            assert await reader.read(1) == b""
        finally:
            writer.close()
        assert (await SERVER_READY.on(server.channel)(READY)).ready


@pytest.mark.parametrize("said", [b"", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes([0, 0, 0, 4, 0, 0, 0, 0, 0])])
async def test_a_connection_that_asks_for_nothing_does_not_keep_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: bytes
) -> None:
    """One that does not begin, and one that has begun and calls nothing."""
    monkeypatch.setattr(grpc_server, "HANDSHAKE_MS", 200)
    monkeypatch.setattr(grpc_server, "IDLE_MS", 200)
    async with served(mean_model(tmp_path / "models"), tmp_path / "cache", ServerLimits(connections=1)) as server:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(said)
        async with asyncio.timeout(120):
            await reader.read()  # to its end
        writer.close()
        assert (await SERVER_READY.on(server.channel)(READY, wait_for_ready=True)).ready
