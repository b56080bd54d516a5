"""One server's connection: what ends a call on it, when it is replaced, and what is forgotten with it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random
from typing import Any

import grpc
import grpc.aio
import pytest

from serving.catalogue.lookup import Catalogue
from serving.common.clock import SYSTEM
from serving.errors import TooLate
from serving.remote.client import server_channel
from serving.remote.client.address import BackendAddress, TlsFiles
from serving.remote.client.calls import Calls
from serving.remote.client.server_channel import LONGEST, ServerChannel, ServerLost
from serving.remote.client.servers import Servers
from serving.remote.protocol import inference_pb2 as pb
from serving.remote.protocol.parameters import WireLimits
from serving.remote.protocol.service import MODEL_METADATA
from tests.real.mosquitto import make_certificate
from tests.serving.remote.client.conftest import Connected
from tests.serving.remote.client.test_backend_client import ours
from tests.serving.remote.v2_server import V2Server, serving
from tests.turns import until

ADDRESS = BackendAddress("gpu", ("grpc://127.0.0.1:1",))


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """However busy the machine is, the first question has an answer."""
    monkeypatch.setattr(server_channel, "PROBE_WITHIN_S", 60.0)


@asynccontextmanager
async def channel(server: V2Server, address: BackendAddress = ADDRESS) -> AsyncIterator[ServerChannel]:
    found = ServerChannel(server.target, f"127.0.0.1:{server.port}", address, WireLimits())
    found.start()
    try:
        await found.answered.wait()
        yield found
    finally:
        await found.close()


def asked(found: ServerChannel) -> asyncio.Task[pb.ModelMetadataResponse]:
    return asyncio.create_task(found.ask(MODEL_METADATA, pb.ModelMetadataRequest(name="means"), 60.0))


async def test_a_call_that_outlives_a_replaced_connection_is_lost_and_who_waits_goes_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(server_channel, "CLOSES_WITHIN_S", 0.01)
    server = V2Server({})
    async with serving(server), channel(server) as found:
        server.answering.clear()
        call = asked(found)
        await until(lambda: bool(found._calls))
        found.connect_anew()
        with pytest.raises(ServerLost):
            await call
        assert not call.cancelling()


async def test_who_gives_a_call_up_is_not_told_that_the_server_is_lost() -> None:
    server = V2Server({})
    async with serving(server), channel(server) as found:
        server.answering.clear()
        call = asked(found)
        await until(lambda: bool(found._calls))
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call


async def test_certificates_that_cannot_be_read_for_a_moment_leave_the_connection_as_it_is(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    make_certificate(tmp_path)
    server = V2Server({})
    pair = ((tmp_path / "server.key").read_bytes(), (tmp_path / "server.pem").read_bytes())
    await server.start(grpc.ssl_server_credentials([pair]))
    try:
        tls = TlsFiles(tmp_path / "ca.pem")
        async with channel(server, BackendAddress("gpu", (), tls)) as found:
            assert found.ready, found.refused_by
            before = found._channel
            (tmp_path / "ca.pem").unlink()
            found.connect_anew()
            assert found._channel is before
            (said,) = [each for each in caplog.messages if "anew" in each]
            assert said.startswith(f"{server.target} cannot be connected anew: tls.ca: ")
            make_certificate(tmp_path)
            found.connect_anew()
            assert found._channel is not before
    finally:
        await server.stop()


async def test_nobody_asks_a_server_that_was_closed_or_connects_to_it_anew() -> None:
    server = V2Server({})
    async with serving(server):
        async with channel(server) as found:
            assert found.ready
        before = found._channel
        found.connect_anew()
        assert (found.ready, found._channel) == (False, before)


class Baffled(V2Server):
    """Has no call that says whether it is ready, as some servers put it: the question fails."""

    times: int = 0

    async def _ready(self, question: pb.ServerReadyRequest, context: Any) -> pb.ServerReadyResponse:
        self.times += 1
        if self.times <= 20:
            await context.abort(grpc.StatusCode.UNKNOWN, "Exception calling application")
        return await super()._ready(question, context)


async def test_a_server_that_fails_at_every_question_is_connected_anew_ever_more_seldom(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    monkeypatch.setattr(server_channel, "PROBE_EVERY_S", 0.0)
    server = Baffled({})
    async with serving(server), channel(server) as found:
        await until(lambda: found.ready)
    assert caplog.text.count("is connected anew") == 5


class FastChannel:
    """A connection that was lost and made again before anybody could look."""

    def __init__(self) -> None:
        self.changed, self.waits = False, asyncio.Event()

    def get_state(self, try_to_connect: bool = False) -> grpc.ChannelConnectivity:
        return grpc.ChannelConnectivity.READY

    async def wait_for_state_change(self, last: grpc.ChannelConnectivity) -> None:
        if self.changed:
            self.waits.set()
            await asyncio.Event().wait()
        self.changed = True


async def test_a_connection_that_was_made_again_at_once_is_another_one() -> None:
    found = ServerChannel("ipv4:127.0.0.1:1", "127.0.0.1:1", ADDRESS, WireLimits())
    real, fast = found._channel, FastChannel()
    found._channel = fast  # type: ignore[assignment]
    found.verified.add("means")
    found.process = "gpu-1/7f"
    watching = asyncio.create_task(found._watch())
    await fast.waits.wait()
    watching.cancel()
    assert (found.verified, found.process) == (set(), "")
    await real.close()


async def test_all_of_an_attempt_has_the_time_of_the_call() -> None:
    server = V2Server({})

    async def targets(_: BackendAddress) -> dict[str, str]:
        return {server.target: ""}

    async def never(_: ServerChannel, left_s: float) -> None:
        await asyncio.Event().wait()

    async with serving(server):
        servers = Servers(ADDRESS, WireLimits(), SYSTEM, rng := Random(1), targets)
        await servers.start()
        try:
            async with asyncio.timeout(60):
                with pytest.raises(TooLate):
                    await Calls(ADDRESS, servers, SYSTEM, rng).make("means", never, 0.05, droppable=True)
        finally:
            await servers.close()


async def test_a_server_that_was_lost_while_it_said_what_a_network_is_is_asked_again(
    catalogue: Catalogue, connected: Connected, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server_channel, "PROBE_WITHIN_S", 0.2)
    server = ours(catalogue)
    async with serving(server), connected(server) as client:
        (found,) = client._servers._servers.values()
        server.answering.clear()
        loading = asyncio.create_task(client.load("means"))
        await asyncio.wait([loading], timeout=60)
        server.answering.set()
        async with asyncio.timeout(60):
            while not found.ready:  # noqa: ASYNC110  (it is asked by itself)
                await asyncio.sleep(0.05)
        assert client.waits_for("means")
        assert loading.exception() is not None


async def test_words_of_a_server_are_one_short_line() -> None:
    server = V2Server({}, token="t0ken")

    async def refuse(context: grpc.aio.ServicerContext[Any, Any]) -> None:
        await context.abort(grpc.StatusCode.UNAUTHENTICATED, "no\nsuch \x1b[2Jtoken " + 1000 * "x")

    server._admit = refuse  # type: ignore[method-assign]
    async with serving(server), channel(server) as found:
        said = found.refused_by or ""
        assert said.startswith("UNAUTHENTICATED: no such \\x1b[2Jtoken")
        assert len(said) < LONGEST + 30
        assert said.isprintable()
