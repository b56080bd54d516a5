"""Our client against ``sluice backend`` as a process: equal answers, and one outcome for each call whatever happens."""

from __future__ import annotations

import asyncio
import math
import signal
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path
from random import Random

import cv2
import numpy as np
import pytest

from operators.detect.decoding import decode
from operators.inference import prepared
from serving.backend import Backend
from serving.catalogue.lookup import SHIPPED, Catalogue
from serving.common.tensors import Array, Image
from serving.errors import BackendDown
from serving.remote.client.address import BackendAddress, TlsFiles
from serving.remote.client.backend_client import BackendClient, ClientTools
from serving.scheduling.requests import Urgency
from tests.integration.backend_process import BackendProcess, backend_process
from tests.models import mean_model, yolox_nano
from tests.pipelines.run.test_run_query import write_clip
from tests.pipelines.test_imports import RIGHT, imported
from tests.real.ports import free_port
from tests.real.wire import wire
from tests.serving.remote.server.test_door import certificates

SOON = Urgency(math.inf)
KIND = "street-kind"


def batches(count: int, items: int = 3) -> list[Array]:
    rng = np.random.default_rng(5)
    return [rng.integers(0, 256, (items, 48, 48, 3), np.uint8) for _ in range(count)]


@asynccontextmanager
async def client_of(
    *targets: str, known: Catalogue | None = None, timeout_s: float = 30.0, tls: TlsFiles | None = None
) -> AsyncIterator[BackendClient]:
    """A client of one backend that has servers at these places."""

    urls = tuple(f"unix://{each.removeprefix('unix:')}" if "unix:" in each else f"grpc://{each}" for each in targets)
    address = BackendAddress("gpu", urls, tls, timeout_s=timeout_s)
    client = BackendClient(address, known or Catalogue([SHIPPED]), ClientTools(rng=Random(1)))
    await client.start()
    try:
        yield client
    finally:
        await client.close()


async def here(catalogue: Catalogue, model: str, images: Sequence[Image]) -> list[Array]:
    """What the same network says in this process."""
    engine = Backend(catalogue)
    await engine.start()
    try:
        card = engine.card(model)
        if card.task == "detect":
            card = await engine.fitted(model, images[0].shape[1], images[0].shape[0])
        return await engine.infer(model, (await prepared(card.input, images))[0], SOON)
    finally:
        await engine.stop()


async def outcomes(client: BackendClient, given: Sequence[Array]) -> list[list[Array] | BackendDown]:
    """The answers, or why there are none: one for each batch."""

    async def one(batch: Array) -> list[Array] | BackendDown:
        try:
            return await client.infer(KIND, batch, SOON)
        except BackendDown as error:
            return error

    return await asyncio.gather(*map(one, given))


def answered(found: Sequence[list[Array] | BackendDown], wanted: Sequence[list[Array]]) -> int:
    """How many calls were answered; each as it should be."""
    there = 0
    for outcome, right in zip(found, wanted, strict=True):
        if isinstance(outcome, BackendDown):
            assert "\n" not in str(outcome)
        else:
            there += 1
            assert [each.tobytes() for each in outcome] == [each.tobytes() for each in right]
    return there


@pytest.mark.parametrize("way", ["tcp", "socket"])
async def test_a_classifier_and_a_detector_answer_as_they_do_here_bit_for_bit(
    tmp_path: Path, data_dir: Path, way: str
) -> None:
    catalogue = yolox_nano(tmp_path / "models", data_dir)
    video = cv2.VideoCapture(str(data_dir / "videos" / "street-level.mp4"))
    images = [np.asarray(video.read()[1], np.uint8) for _ in range(2)]
    video.release()
    listen = "127.0.0.1:0" if way == "tcp" else f"unix:{tmp_path}/sluice.sock"
    with backend_process(tmp_path, "--models", tmp_path / "models", listen=listen) as backend:
        async with client_of(backend.grpc, known=catalogue) as client:
            for model in ("vehicle-type", "yolox-nano"):
                await client.load(model)
                card = client.card(model)
                if model == "yolox-nano":
                    card = await client.fitted(model, images[0].shape[1], images[0].shape[0], None)
                    assert card.input.height < card.input.width
                told = await client.infer(model, (await prepared(card.input, images))[0], SOON)
                wanted = await here(catalogue, model, images)
                if model == "vehicle-type":
                    assert [each.tobytes() for each in told] == [each.tobytes() for each in wanted]
                    continue
                own = catalogue.find(model).card
                shape = {"width": card.input.width, "height": card.input.height}
                own = own.model_copy(update={"input": own.input.model_copy(update=shape)})
                for mine, theirs in zip(decode(card, told), decode(own, wanted), strict=True):
                    assert len(mine) > 1
                    assert mine.boxes.tobytes() == theirs.boxes.tobytes()
                    assert mine.scores.tobytes() == theirs.scores.tobytes()
                    assert mine.classes.tolist() == theirs.classes.tolist()


async def test_of_two_backends_one_may_be_killed_or_stopped(tmp_path: Path) -> None:
    given = batches(120)
    with ExitStack() as stack:
        one, other = (stack.enter_context(backend_process(tmp_path / name, "--load", KIND)) for name in "ab")
        async with client_of(one.grpc, other.grpc) as client:
            await client.load(KIND)
            wanted = [await client.infer(KIND, batch, SOON) for batch in given]
            assert answered(await outcomes(client, given), wanted) == len(given)
            asking = asyncio.create_task(outcomes(client, given))
            await asyncio.sleep(0.05)
            one.command.process.send_signal(signal.SIGSTOP)
            assert answered(await asking, wanted) == len(given)
            one.command.process.send_signal(signal.SIGCONT)
            await back(client, 2)
            asking = asyncio.create_task(outcomes(client, given))
            await asyncio.sleep(0.05)
            other.command.kill()
            assert answered(await asking, wanted) == len(given)


async def test_one_that_drains_is_left_for_another(tmp_path: Path) -> None:
    given = batches(60)
    with ExitStack() as stack:
        one, other = (stack.enter_context(backend_process(tmp_path / name, "--load", KIND)) for name in "ab")
        async with client_of(one.grpc, other.grpc) as client:
            await client.load(KIND)
            wanted = [await client.infer(KIND, batch, SOON) for batch in given]
            asking = asyncio.create_task(outcomes(client, given))
            await asyncio.sleep(0.05)
            one.command.process.send_signal(signal.SIGTERM)
            assert answered(await asking, wanted) == len(given)
            assert await asyncio.to_thread(one.command.wait) == 0
            assert answered(await outcomes(client, given), wanted) == len(given)


def test_a_run_whose_networks_are_all_elsewhere_imports_no_runtime(tmp_path: Path) -> None:
    write_clip(tmp_path / "clip.mp4")
    with backend_process(tmp_path / "backend", "--load", KIND) as backend:
        text = RIGHT.replace("nodes:", f"backends: {{gpu: {{url: 'grpc://{backend.grpc}'}}}}\nnodes:")
        for name, model in (("here", KIND), ("elsewhere", f"{KIND} on gpu")):
            (tmp_path / f"{name}.yaml").write_text(text.replace("endless", model))
            status, found = imported(tmp_path, ["run", f"{name}.yaml"])
            assert status == 0
            assert ({"onnxruntime", "onnx"} <= found) is (name == "here")
            assert found.isdisjoint({"onnxruntime", "onnx"}) is (name == "elsewhere")


async def test_a_network_that_was_exchanged_is_refused(tmp_path: Path) -> None:
    listen = f"127.0.0.1:{free_port()}"
    sizes = {"width": 4, "height": 4, "colour": "bgr"}
    old = mean_model(tmp_path / "old", input=sizes)
    mean_model(tmp_path / "new", input=sizes | {"scale": 0.5}, version="2")
    batch = np.full((1, 4, 4, 3), 8, np.uint8)
    with backend_process(tmp_path / "a", "--models", tmp_path / "old", listen=listen) as backend:
        async with client_of(listen, known=old) as client:
            await client.load("means")
            assert (await client.infer("means", batch, SOON))[0].tolist() == [[8.0] * 3]
            backend.command.terminate()
            with backend_process(tmp_path / "b", "--models", tmp_path / "new", listen=listen):
                await back(client)
                with pytest.raises(BackendDown, match="the backend serves another network than means 1"):
                    await client.infer("means", batch, SOON)


async def again(client: BackendClient, batch: Array) -> list[Array]:
    """Its answer, once the connection that was spoilt has been replaced."""
    async with asyncio.timeout(90):
        while True:
            try:
                return await client.infer(KIND, batch, SOON)
            except BackendDown:
                await asyncio.sleep(0.2)


async def back(client: BackendClient, servers: int = 1) -> None:
    """So many servers may be asked: a breaker may keep calls away for half a minute."""
    async with asyncio.timeout(90):
        while len(client._servers.askable()) < servers:  # noqa: ASYNC110 (clients do not tell)
            await asyncio.sleep(0.05)


def port_of(backend: BackendProcess) -> int:
    return int(backend.grpc.rpartition(":")[2])


async def test_over_a_wire_that_delays_and_cuts_each_call_has_one_outcome(tmp_path: Path) -> None:
    given = batches(200)
    with backend_process(tmp_path, "--load", KIND) as backend:
        async with wire("127.0.0.1", port_of(backend)) as between, client_of(f"127.0.0.1:{between.port}") as client:
            await client.load(KIND)
            wanted = [await client.infer(KIND, batch, SOON) for batch in given]
            between.shaken_s = 0.01
            assert answered(await outcomes(client, given[:40]), wanted[:40]) == 40
            between.cut = 0.004
            answered(await outcomes(client, given), wanted)
            between.shaken_s = between.cut = 0.0
            await back(client)
            assert (await client.infer(KIND, given[0], SOON))[0].tobytes() == wanted[0][0].tobytes()


async def test_over_a_wire_that_corrupts_tls_lets_nothing_wrong_through(tmp_path: Path) -> None:
    certificates(tmp_path)
    given = batches(200)
    files = ("--cert", tmp_path / "server.pem", "--key", tmp_path / "server.key", "--client-ca", tmp_path / "ca.pem")
    tls = TlsFiles(tmp_path / "ca.pem", tmp_path / "client.pem", tmp_path / "client.key")
    with backend_process(tmp_path, "--load", KIND, *files) as backend:
        async with (
            wire("127.0.0.1", port_of(backend)) as between,
            client_of(f"localhost:{between.port}", tls=tls) as client,
        ):
            await client.load(KIND)
            wanted = [await client.infer(KIND, batch, SOON) for batch in given]
            between.corrupt = 0.02
            answered(await outcomes(client, given), wanted)
            between.corrupt = 0.0
            await back(client)
            assert (await client.infer(KIND, given[0], SOON))[0].tobytes() == wanted[0][0].tobytes()


async def test_over_a_wire_that_corrupts_in_the_clear_nobody_falls_over(tmp_path: Path) -> None:
    given = batches(200)
    with backend_process(tmp_path, "--load", KIND) as backend:
        async with wire("127.0.0.1", port_of(backend)) as between, client_of(f"127.0.0.1:{between.port}") as client:
            await client.load(KIND)
            wanted = await client.infer(KIND, given[0], SOON)
            between.corrupt = 0.2
            kinds = Counter(type(each).__name__ for each in await outcomes(client, given))
            assert kinds.total() == len(given)
            between.corrupt = 0.0
            assert (await again(client, given[0]))[0].tobytes() == wanted[0].tobytes()
        assert backend.command.process.poll() is None
