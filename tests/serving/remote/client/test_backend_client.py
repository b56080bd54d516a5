from __future__ import annotations

import asyncio
import logging
import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import grpc
import grpc.aio
import numpy as np
import pytest

from serving.catalogue.lookup import Catalogue
from serving.errors import BackendDown, ModelError, TooLate
from serving.remote import router
from serving.remote.breaker import BREAKER
from serving.remote.client import calls
from serving.remote.client.backend_client import BackendClient, ClientTools
from serving.remote.protocol import inference_pb2 as pb
from serving.remote.protocol.parameters import values
from serving.remote.protocol.wire_card import INPUT
from serving.scheduling.requests import BACKGROUND, Urgency
from tests.fake_clock import FakeClock
from tests.models import mean_model
from tests.serving.remote.client.conftest import Connected
from tests.serving.remote.v2_server import LIMITS, V2Server, means_of_others, means_of_ours, serving
from tests.turns import until

SOON = Urgency(math.inf)
PICTURES = np.arange(2 * 4 * 4 * 3, dtype=np.uint8).reshape(2, 4, 4, 3)
MEANS = PICTURES.astype(np.float32).mean((1, 2))


def ours(catalogue: Catalogue, **changes: object) -> V2Server:
    return V2Server({"means": means_of_ours(catalogue.find("means").card)}, **changes)  # type: ignore[arg-type]


async def test_pictures_travel_as_bytes_to_a_backend_of_ours(catalogue: Catalogue, connected: Connected) -> None:
    server = ours(catalogue, queue=7)
    async with serving(server), connected(server) as client:
        await client.load("means")
        assert client.card("means").input.dtype == "uint8"
        assert client.identity("means") == catalogue.find("means").card.identity
        urgency = Urgency(time.monotonic() + 500, downstream_s=0.25)
        (answer,) = await client.infer("means", PICTURES, urgency)
        assert np.array_equal(answer, MEANS)
        asked = server.asked[-1]
        assert [each.name for each in asked.inputs] == [INPUT]
        assert [each.name for each in asked.outputs] == ["means"]
        said = values(asked.parameters, LIMITS)
        assert 400_000 < float(said["deadline_ms"]) < 500_000
        assert said["downstream_ms"] == 250
        assert [each.queue for each in client._servers.askable()] == [7]


async def test_a_server_of_others_takes_what_the_card_says(catalogue: Catalogue, connected: Connected) -> None:
    server = V2Server({"means": means_of_others()})
    async with serving(server), connected(server) as client:
        await client.load("means")
        card = client.card("means")
        assert (card, client.identity("means")) == (catalogue.find("means").card, None)
        batch = np.moveaxis(PICTURES.astype(np.float32), -1, 1)
        (answer,) = await client.infer("means", batch, Urgency(time.monotonic() + 5))
        np.testing.assert_allclose(answer, MEANS, rtol=1e-6)
        assert not server.asked[-1].parameters
        card = await client.fitted("means", 1920, 1080, None)
        assert (card.input.width, card.input.height) == (4, 4)


class SlowToDescribe(V2Server):
    """Is ready, and says what a network is once it may."""

    descriptions = 0
    may_describe = asyncio.Event()

    async def _metadata(self, question: pb.ModelMetadataRequest, context: Any) -> pb.ModelMetadataResponse:
        self.descriptions += 1
        await self.may_describe.wait()
        return await super()._metadata(question, context)


async def test_requests_wait_no_longer_than_calls_for_a_server_to_say_what_it_has(connected: Connected) -> None:
    server = SlowToDescribe({"means": means_of_others()})
    batch = np.moveaxis(PICTURES.astype(np.float32), -1, 1)
    async with serving(server), connected(server, timeout_s=3.0) as client:
        asked = [client.infer("means", batch, SOON) for _ in range(5)]
        for error in await asyncio.gather(*asked, return_exceptions=True):
            assert isinstance(error, BackendDown)
            assert "has not said in time what means is" in str(error)
        server.may_describe.set()
        await client.load("means")
        np.testing.assert_allclose((await client.infer("means", batch, SOON))[0], MEANS, rtol=1e-6)
        assert server.descriptions == 2, "once to know it, once to verify the server"


async def test_outputs_that_nobody_reads_are_passed_over(tmp_path: Path, connected: Connected) -> None:
    network = means_of_others()
    network.outputs = [("words", "BYTES", [-1, 1]), *network.outputs]
    run, server = network.run, V2Server({"means": network})
    network.run = lambda batch: [np.zeros((len(batch), 1), np.float32), *run(batch)]

    def words(answer: pb.ModelInferResponse) -> None:
        answer.outputs[0].datatype = "BYTES"
        answer.raw_output_contents[0] = b"\x03\x00\x00\x00red" * 2

    server.spoil = words
    known = mean_model(tmp_path / "named", outputs=["means", "others"])
    async with serving(server), connected(server, known=known) as client:
        await client.load("means")
        batch = np.moveaxis(PICTURES.astype(np.float32), -1, 1)
        (answer,) = await client.infer("means", batch, SOON)
        np.testing.assert_allclose(answer, MEANS, rtol=1e-6)


async def test_a_card_that_is_not_here_comes_from_our_backend(
    catalogue: Catalogue, connected: Connected, tmp_path: Path
) -> None:
    server, empty = ours(catalogue), Catalogue([tmp_path / "none"])
    async with serving(server), connected(server, known=empty) as client:
        with pytest.raises(ModelError, match="has not said what means is, and no card of that name is here"):
            client.card("means")
        await client.load("means")
        assert client.card("means").classes == ("blue", "green", "red")


@pytest.mark.parametrize(
    ("spoilt", "says"),
    [
        ({"input": ("images", "FP32", [-1, 3, 8, 8])}, "its input images is float32 N × 3 × 8 × 8, its card means"),
        ({"input": ("images", "UINT8", [-1, 3, 4, 4])}, "its input images is uint8"),
        ({"outputs": [("means", "FP32", [-1, 1000])]}, "scores 1000 classes, its card lists 3"),
        ({"outputs": []}, "0 outputs, where 1 to 16 are allowed"),
        ({"outputs": [("words", "BYTES", [-1, 1])]}, "the type 'BYTES' is not one of"),
        ({"outputs": [("means", "FP32", [-7])]}, "its shape makes no sense"),
        ({"outputs": [("a", "FP32", [-1, 3]), ("a", "FP32", [-1, 3])]}, "two outputs have one name"),
        ({"outputs": [("m\x1b[2J", "FP32", [-1, 3])]}, "printable characters"),
        ({"input": ("images", "BYTES", [-1])}, "the type 'BYTES' is not one of"),
        ({"platform": "sluice"}, "the configuration has no parameter"),
    ],
)
async def test_what_does_not_fit_the_card_is_refused(
    catalogue: Catalogue, connected: Connected, spoilt: dict[str, object], says: str
) -> None:
    network = means_of_others()
    for key, value in spoilt.items():
        setattr(network, key, value)
    server = V2Server({"means": network})
    async with serving(server), connected(server) as client:
        with pytest.raises(ModelError, match=says) as error:
            await client.load("means")
        assert str(error.value).isprintable()
        assert server.asked == []


async def test_another_network_of_that_name_is_refused(
    catalogue: Catalogue, connected: Connected, tmp_path: Path
) -> None:
    other = mean_model(tmp_path / "others", version="2", sha256="1" * 64)
    server = ours(other)
    async with serving(server), connected(server) as client:
        with pytest.raises(ModelError, match="serves another network than means 1 of this machine"):
            await client.load("means")


async def exchanged(server: V2Server, client: BackendClient, others: Catalogue) -> None:
    """The server goes, and comes back with networks of this catalogue."""
    await server.stop()
    await until(lambda: not any(each.target == server.target for each in client._servers.askable()))
    server.networks = ours(others).networks
    await server.start()
    await until(lambda: any(each.target == server.target for each in client._servers.askable()))


@pytest.fixture
def others(tmp_path: Path) -> Catalogue:
    return mean_model(tmp_path / "others", version="2", sha256="1" * 64)


async def test_a_network_that_is_not_the_one_here_is_not_asked_until_it_is_back(
    catalogue: Catalogue, others: Catalogue, connected: Connected
) -> None:
    server = ours(catalogue)
    async with serving(server), connected(server) as client:
        await client.load("means")
        await exchanged(server, client, others)
        before = len(server.asked)
        with pytest.raises(BackendDown, match="serves another network than means 1 of this machine"):
            await client.infer("means", PICTURES, SOON)
        assert len(server.asked) == before
        await exchanged(server, client, catalogue)
        assert np.array_equal((await client.infer("means", PICTURES, SOON))[0], MEANS)


async def test_a_new_version_takes_the_place_of_the_old_where_none_is_here(
    catalogue: Catalogue, others: Catalogue, connected: Connected, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    server = ours(catalogue)
    async with serving(server), connected(server, known=Catalogue([tmp_path / "none"])) as client:
        await client.load("means")
        await exchanged(server, client, others)
        for _ in range(2):
            assert np.array_equal((await client.infer("means", PICTURES, SOON))[0], MEANS)
        assert client.identity("means") == others.find("means").card.identity
        assert client.card("means").version == "2"
    assert [each.message.endswith(" has means 2 now: it is used") for each in caplog.records].count(True) == 1


@pytest.mark.parametrize("changes", [{"classes": ["a", "b", "c"]}, {"input": {"width": 8, "height": 8}}])
async def test_one_that_is_read_otherwise_does_not(
    catalogue: Catalogue, connected: Connected, tmp_path: Path, changes: dict[str, Any]
) -> None:
    server = ours(catalogue)
    async with serving(server), connected(server, known=Catalogue([tmp_path / "none"])) as client:
        await client.load("means")
        await exchanged(server, client, mean_model(tmp_path / "others", version="2", sha256="1" * 64, **changes))
        before = len(server.asked)
        for _ in range(2):
            with pytest.raises(
                BackendDown, match="takes or says something else there than it did: start anew to use it"
            ):
                await client.infer("means", PICTURES, SOON)
        assert len(server.asked) == before


async def test_servers_are_exchanged_one_after_the_other_and_one_network_answers_at_a_time(
    catalogue: Catalogue, others: Catalogue, connected: Connected, tmp_path: Path
) -> None:
    one, other = ours(catalogue), ours(catalogue)
    async with serving(one), serving(other), connected(one, other, known=Catalogue([tmp_path / "none"])) as client:
        await client.load("means")
        await until_verified(client, 2)
        await exchanged(one, client, others)
        before = len(one.asked)
        for _ in range(20):
            await client.infer("means", PICTURES, SOON)
        assert len(one.asked) == before
        assert client.card("means").version == "1"
        await exchanged(other, client, others)
        await until_verified(client, 2)
        assert client.card("means").version == "2"


async def until_verified(client: BackendClient, servers: int) -> None:
    async with asyncio.timeout(60):
        while sum("means" in each.verified for each in client._servers.askable()) < servers:
            await client.infer("means", PICTURES, SOON)


async def test_a_backend_that_was_down_and_comes_back_with_another_network_is_asked_again_once_it_has_the_right_one(
    catalogue: Catalogue, others: Catalogue, connected: Connected
) -> None:
    server = ours(others)
    async with serving(server), connected(server) as client:
        with pytest.raises(ModelError, match="serves another network than means 1"):
            await client.load("means")
        assert not client.waits_for("means")
        with pytest.raises(BackendDown, match="serves another network than means 1"):
            await client.infer("means", PICTURES, SOON)
        await exchanged(server, client, catalogue)
        assert client.waits_for("means")
        await client.load("means")
        assert np.array_equal((await client.infer("means", PICTURES, SOON))[0], MEANS)


async def test_answers_are_checked(catalogue: Catalogue, connected: Connected) -> None:
    server = ours(catalogue)
    async with serving(server), connected(server) as client:
        await client.load("means")
        for spoil, says in [
            (lambda answer: answer.outputs[0].shape.__setitem__(0, 3), "24 bytes, where its shape has 36"),
            (lambda answer: setattr(answer.outputs[0], "name", "mean"), "the output means is missing"),
            (lambda answer: setattr(answer.outputs[0], "datatype", "INT32"), "is int32 2 × 3 for 2 pictures"),
            (lambda answer: answer.outputs.add(name="means", datatype="FP32", shape=[1]), "comes twice"),
            (lambda answer: answer.raw_output_contents.append(b"more"), "more raw contents than tensors"),
            (lambda answer: answer.outputs[0].shape.append(1 << 40), "an axis must have"),
        ]:
            server.spoil = spoil
            with pytest.raises(BackendDown, match=f"backend gpu .*{says}"):
                await client.infer("means", PICTURES, SOON)
            server.spoil = None
            client._servers._servers[server.target].breaker.succeeded()
            (answer,) = await client.infer("means", PICTURES, SOON)
            assert np.array_equal(answer, MEANS)


async def test_what_is_no_picture_of_the_network_is_not_sent(catalogue: Catalogue, connected: Connected) -> None:
    server = ours(catalogue)
    async with serving(server), connected(server) as client:
        with pytest.raises(ModelError, match="means takes uint8 pictures, was given float32 2 × 4 × 4 × 3"):
            await client.infer("means", PICTURES.astype(np.float32), SOON)


async def test_another_server_answers_where_one_is_killed(catalogue: Catalogue, connected: Connected) -> None:
    one, other = ours(catalogue), ours(catalogue)
    async with serving(one, other), connected(one, other) as client:
        await client.load("means")
        asked = [asyncio.create_task(client.infer("means", PICTURES, SOON)) for _ in range(20)]
        await asyncio.sleep(0)
        one.delay_s = other.delay_s = 0.02
        await one.stop()
        for answer in await asyncio.gather(*asked):
            assert np.array_equal(answer[0], MEANS)
        await until(lambda: len(client._servers.askable()) == 1)
        await one.start()
        await until(lambda: len(client._servers.askable()) == 2)
        for _ in range(20):
            await client.infer("means", PICTURES, SOON)
        assert one.asked


async def test_another_server_answers_where_one_hangs(catalogue: Catalogue, connected: Connected) -> None:
    one, other = ours(catalogue), ours(catalogue)
    async with serving(one, other), connected(one, other) as client:
        await client.load("means")
        await client._verified(client._models["means"], client._servers.askable()[0], 5)
        await client._verified(client._models["means"], client._servers.askable()[1], 5)
        one.answering.clear()
        asked = [asyncio.create_task(client.infer("means", PICTURES, SOON)) for _ in range(8)]
        for answer in await asyncio.gather(*asked):
            assert np.array_equal(answer[0], MEANS)
        one.answering.set()


class WakingClock(FakeClock):
    """Whoever sleeps wakes at once, and no time has passed."""

    def call_at(self, at_s: float, callback: Callable[[], None]) -> Any:
        return asyncio.get_running_loop().call_soon(callback)


async def test_a_server_that_fails_is_left_alone(
    catalogue: Catalogue, connected: Connected, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(calls, "ATTEMPTS", 1)
    server, clock = ours(catalogue), WakingClock()
    async with serving(server), connected(server, tools=ClientTools(clock)) as client:
        await client.load("means")
        server.fails = grpc.StatusCode.INTERNAL
        for _ in range(3):
            with pytest.raises(BackendDown, match="told to"):
                await client.infer("means", PICTURES, SOON)
        before = len(server.asked)
        with pytest.raises(BackendDown, match="has failed several times running and is left alone"):
            await client.infer("means", PICTURES, SOON)
        assert len(server.asked) == before
        clock.advance(BREAKER.returns.max_s)
        with pytest.raises(BackendDown, match="told to"):
            await client.infer("means", PICTURES, SOON)
        with pytest.raises(BackendDown, match="left alone"):  # the call that tried has failed
            await client.infer("means", PICTURES, SOON)
        server.fails = None
        assert not client.may_answer
        clock.advance(BREAKER.returns.max_s)
        (answer,) = await client.infer("means", PICTURES, SOON)
        assert np.array_equal(answer, MEANS)


class Spoilt(V2Server):
    """Once it is spoilt, it understands nothing more that comes over the connection that asks first."""

    spoilt: str | None = None
    peers: frozenset[str] = frozenset()
    together: asyncio.Barrier
    """Calls fail when so many are under way."""

    async def _infer(self, question: pb.ModelInferRequest, context: Any) -> pb.ModelInferResponse:
        self.peers |= {context.peer()}
        if self.spoilt is not None:
            self.spoilt = self.spoilt or context.peer()
            if context.peer() == self.spoilt:
                await self.together.wait()
                await context.abort(grpc.StatusCode.INTERNAL, "Illegal header key")
        return await super()._infer(question, context)


async def test_a_connection_on_which_all_calls_fail_is_replaced_once(
    catalogue: Catalogue, connected: Connected, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    monkeypatch.setattr(calls, "ATTEMPTS", 1)
    server = Spoilt(ours(catalogue).networks)
    async with serving(server), connected(server) as client:
        await client.load("means")
        server.spoilt, server.together = "", asyncio.Barrier(12)
        asked = (client.infer("means", PICTURES, SOON) for _ in range(12))
        found = await asyncio.gather(*asked, return_exceptions=True)
        assert all(isinstance(each, BackendDown) for each in found)
        assert caplog.text.count("is connected anew") == 1
        await until(lambda: client.may_answer)
        (answer,) = await client.infer("means", PICTURES, SOON)
        assert np.array_equal(answer, MEANS)
        assert len(server.peers) == 2


async def test_a_refusal_says_nothing_against_the_server(catalogue: Catalogue, connected: Connected) -> None:
    server = ours(catalogue)
    async with serving(server), connected(server) as client:
        await client.load("means")
        server.fails = grpc.StatusCode.INVALID_ARGUMENT
        for _ in range(5):
            before = len(server.asked)
            with pytest.raises(BackendDown, match="told to"):
                await client.infer("means", PICTURES, SOON)
            assert len(server.asked) == before + 1


async def test_late_answers_are_used_unless_the_stream_drops(catalogue: Catalogue, connected: Connected) -> None:
    server = ours(catalogue)
    async with serving(server), connected(server, timeout_s=30.0) as client:
        await client.load("means")
        server.delay_s = 0.2
        at = time.monotonic()
        (answer,) = await client.infer("means", PICTURES, Urgency(at + 0.05))
        assert np.array_equal(answer, MEANS)
        assert 20 < (server.limits[-1] or 0) < 31
        server.delay_s = 60.0
        with pytest.raises(TooLate, match="backend gpu"):
            await client.infer("means", PICTURES, Urgency(time.monotonic() + 3, droppable=True))
        assert (server.limits[-1] or 9) < 4
        before = len(server.asked)
        with pytest.raises(TooLate):
            await client.infer("means", PICTURES, Urgency(time.monotonic() - 1, droppable=True))
        assert len(server.asked) == before
        assert client.may_answer


async def test_calls_take_no_longer_than_they_may(catalogue: Catalogue, connected: Connected) -> None:
    server = ours(catalogue)
    async with serving(server), connected(server, timeout_s=0.05) as client:
        await client.load("means")
        server.delay_s = 60.0
        with pytest.raises(BackendDown, match="has not answered in time"):
            await client.infer("means", PICTURES, SOON)


async def test_calls_in_flight_are_bounded(catalogue: Catalogue, connected: Connected) -> None:
    server, most = ours(catalogue), 0
    async with serving(server), connected(server, in_flight=4) as client:
        await client.load("means")
        (channel,) = client._servers.askable()
        server.delay_s = 0.01
        tasks = [asyncio.create_task(client.infer("means", PICTURES, SOON)) for _ in range(20)]
        while not all(task.done() for task in tasks):
            most = max(most, channel.waiting)
            await asyncio.sleep(0.001)
        assert most == 4
        server.delay_s = 3.0
        tasks = [asyncio.create_task(client.infer("means", PICTURES, SOON)) for _ in range(4)]
        await until(lambda: channel.waiting == 4)
        with pytest.raises(TooLate, match="no room for a call in time"):
            await client.infer("means", PICTURES, Urgency(time.monotonic() + 0.5, droppable=True))
        await asyncio.gather(*tasks)


async def test_work_in_the_background_takes_a_quarter(catalogue: Catalogue, connected: Connected) -> None:
    server, most = ours(catalogue), 0
    async with serving(server), connected(server, in_flight=4) as client:
        await client.load("means")
        (channel,) = client._servers.askable()
        server.delay_s = 0.01
        tasks = [asyncio.create_task(client.infer("means", PICTURES, BACKGROUND)) for _ in range(6)]
        while not all(task.done() for task in tasks):
            most = max(most, channel.waiting)
            await asyncio.sleep(0.001)
        assert most == 1
        assert values(server.asked[-1].parameters, LIMITS)["background"] is True


@pytest.mark.parametrize(("announced", "max_batch"), [(-1, 2), (2, None), (2, 3), (8, 2)])
async def test_large_batches_go_to_others_in_parts(
    connected: Connected, tmp_path: Path, announced: int, max_batch: int | None
) -> None:
    network = means_of_others()
    network.input[2][0] = announced
    server = V2Server({"means": network})
    known = mean_model(tmp_path / "small", max_batch=max_batch)
    async with serving(server), connected(server, known=known) as client:
        await client.load("means")
        batch = np.random.default_rng(1).normal(size=(5, 3, 4, 4)).astype(np.float32)
        (answer,) = await client.infer("means", batch, SOON)
        np.testing.assert_allclose(answer, batch.mean((2, 3)), rtol=1e-5)
        assert [each.inputs[0].shape[0] for each in server.asked[1:]] == [2, 2, 1]


async def test_a_backend_that_is_down_at_first_is_asked_once_it_is_back(
    catalogue: Catalogue, connected: Connected
) -> None:
    server = ours(catalogue)
    await server.start()
    await server.stop()
    async with connected(server) as client:
        assert not client.may_answer
        with pytest.raises(BackendDown, match="backend gpu"):
            await client.load("means")
        assert client.card("means").input.dtype == "uint8"
        assert await router.load_or_wait(client, "means") is None
        async with serving(server):
            await until(lambda: client.waits_for("means"))
            assert await router.load_or_wait(client, "means") is None
            (answer,) = await client.infer("means", PICTURES, SOON)
            assert np.array_equal(answer, MEANS)


async def test_a_server_that_is_not_ready_is_not_asked(catalogue: Catalogue, connected: Connected) -> None:
    one, other = ours(catalogue, ready=False), ours(catalogue)
    async with serving(one, other), connected(one, other) as client:
        await client.load("means")
        for _ in range(10):
            await client.infer("means", PICTURES, SOON)
        assert one.asked == []
        other.ready = False
        await until(lambda: not client.may_answer)
        with pytest.raises(BackendDown, match="no server of it is ready"):
            await client.infer("means", PICTURES, SOON)


async def test_answers_beyond_the_limit_are_refused(catalogue: Catalogue, connected: Connected) -> None:
    server = ours(catalogue)

    def swell(answer: pb.ModelInferResponse) -> None:
        answer.raw_output_contents[0] = bytes(80 << 20)

    async with serving(server), connected(server) as client:
        await client.load("means")
        server.spoil = swell
        with pytest.raises(BackendDown):
            await client.infer("means", PICTURES, SOON)


async def test_bytes_that_are_no_answer_are_a_failure_like_others(catalogue: Catalogue, connected: Connected) -> None:
    nonsense = [asyncio.Event() for _ in range(2)]

    class Garbler(grpc.aio.ServerInterceptor):
        """Has calls answered with bytes of no message: that for inference, or the question whether it is ready."""

        async def intercept_service(self, continuation: Any, details: grpc.HandlerCallDetails) -> Any:
            for said, name in zip(nonsense, ("ModelInfer", "ServerReady"), strict=True):
                if said.is_set() and details.method.endswith(f"/{name}"):
                    return grpc.unary_unary_rpc_method_handler(garbled)
            return await continuation(details)

    async def garbled(question: bytes, context: Any) -> bytes:
        return b"\xff" * 40

    server = ours(catalogue, interceptors=[Garbler()])
    async with serving(server), connected(server) as client:
        await client.load("means")
        nonsense[0].set()
        with pytest.raises(BackendDown, match="its answer is none: it is no ModelInferResponse"):
            await client.infer("means", PICTURES, SOON)
        nonsense[1].set()
        await until(lambda: not client.may_answer)
        for each in nonsense:
            each.clear()
        await until(lambda: client.may_answer)
        assert np.array_equal((await client.infer("means", PICTURES, SOON))[0], MEANS)
