from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import numpy as np
import pytest

from serving.catalogue import Catalogue, Entry
from serving.engine import Engine
from serving.errors import ModelError, SluiceError
from serving.network import Array, Network
from tests.models import mean_model

SOON, LATER = 1.0, 2.0


class Fake:
    """A network that doubles its input, notes every batch, and holds while its gate is shut."""

    def __init__(self, batch_limit: int | None = None) -> None:
        self.batch_limit = batch_limit
        self.batches: list[list[float]] = []
        self.gate = threading.Event()
        self.gate.set()
        self.running = threading.Event()

    def check(self, batch: Array) -> None:
        if batch.dtype != np.float32:
            raise ModelError("float32 only")

    def run(self, batch: Array) -> list[Array]:
        self.running.set()
        assert self.gate.wait(10)
        self.batches.append(batch.ravel().tolist())
        if (batch < 0).any():
            raise ValueError("negative pixels")
        return [batch * 2, batch.sum(axis=1)]


def pixels(*values: float) -> Array:
    return np.array(values, np.float32)[:, None]


@asynccontextmanager
async def running(
    tmp_path: Path, opener: Callable[[Entry, int], Network], max_batch: int = 16
) -> AsyncIterator[Engine]:
    mean_model(tmp_path, "one")
    mean_model(tmp_path, "two")
    engine = Engine(Catalogue([tmp_path]), threads=1, max_batch=max_batch, opener=opener)
    await engine.start()
    try:
        yield engine
    finally:
        await engine.stop()


async def held(engine: Engine, network: Fake) -> asyncio.Task[list[Array]]:
    """Occupy the engine's thread until the gate opens."""
    network.gate.clear()
    task = asyncio.create_task(engine.infer("one", pixels(0), SOON))
    await asyncio.to_thread(network.running.wait, 10)
    return task


async def test_a_request_gets_its_outputs(tmp_path: Path) -> None:
    async with running(tmp_path, lambda *_: Fake()) as engine:
        doubled, total = await engine.infer("one", pixels(1, 2), SOON)
    assert doubled.ravel().tolist() == [2, 4]
    assert total.tolist() == [1, 2]


async def test_waiting_requests_are_joined_and_split_again(tmp_path: Path) -> None:
    network = Fake()
    async with running(tmp_path, lambda *_: network) as engine:
        first = await held(engine, network)
        rest = [asyncio.create_task(engine.infer("one", pixels(*values), SOON)) for values in ([1, 2], [3], [4, 5, 6])]
        await asyncio.sleep(0.05)
        network.gate.set()
        answers = await asyncio.gather(first, *rest)
    assert network.batches == [[0], [1, 2, 3, 4, 5, 6]]
    assert [answer[0].ravel().tolist() for answer in answers] == [[0], [2, 4], [6], [8, 10, 12]]
    assert (engine.stats().batches, engine.stats().items) == (2, 7)


async def test_batches_respect_the_engines_and_the_networks_limit(tmp_path: Path) -> None:
    network = Fake(batch_limit=2)
    async with running(tmp_path, lambda *_: network, max_batch=3) as engine:
        first = await held(engine, network)
        rest = [asyncio.create_task(engine.infer("one", pixels(value), SOON)) for value in (1, 2, 3)]
        await asyncio.sleep(0.05)
        network.gate.set()
        await asyncio.gather(first, *rest)
        (doubled, _) = await engine.infer("one", pixels(7, 8, 9), SOON)
    assert network.batches == [[0], [1, 2], [3], [7, 8], [9]]
    assert doubled.ravel().tolist() == [14, 16, 18]


async def test_the_model_that_is_due_first_runs_first(tmp_path: Path) -> None:
    networks = {"one": Fake(), "two": Fake()}
    order: list[str] = []
    async with running(tmp_path, lambda entry, _: networks[entry.card.name]) as engine:
        await engine.load("two")
        first = await held(engine, networks["one"])

        async def ask(model: str, deadline: float) -> None:
            await engine.infer(model, pixels(1), deadline)
            order.append(model)

        later = asyncio.create_task(ask("one", LATER))
        sooner = asyncio.create_task(ask("two", SOON))
        await asyncio.sleep(0.05)
        networks["one"].gate.set()
        await asyncio.gather(first, later, sooner)
    assert order == ["two", "one"]


async def test_a_failing_batch_fails_only_its_own_requests(tmp_path: Path) -> None:
    async with running(tmp_path, lambda *_: Fake()) as engine:
        with pytest.raises(SluiceError, match="model 'one' failed on a batch of 1: negative pixels"):
            await engine.infer("one", pixels(-1), SOON)
        assert (await engine.infer("one", pixels(1), SOON))[1].tolist() == [1]


async def test_requests_that_cannot_be_joined_fail_and_the_engine_goes_on(tmp_path: Path) -> None:
    network = Fake()
    async with running(tmp_path, lambda *_: network) as engine:
        first = await held(engine, network)
        pair = [engine.infer("one", np.zeros((1, width), np.float32), SOON) for width in (2, 3)]
        joined = asyncio.gather(*pair, return_exceptions=True)
        await asyncio.sleep(0.05)
        network.gate.set()
        assert all(isinstance(answer, SluiceError) for answer in await joined)
        await first
        assert (await engine.infer("one", pixels(1), SOON))[1].tolist() == [1]


async def test_a_wrong_batch_is_refused_before_it_waits(tmp_path: Path) -> None:
    network = Fake()
    async with running(tmp_path, lambda *_: network) as engine:
        with pytest.raises(ModelError, match="float32 only"):
            await engine.infer("one", pixels(1).astype(np.float64), SOON)
    assert network.batches == []


async def test_a_cancelled_request_is_not_run(tmp_path: Path) -> None:
    network = Fake()
    async with running(tmp_path, lambda *_: network) as engine:
        first = await held(engine, network)
        cancelled = asyncio.create_task(engine.infer("one", pixels(5), SOON))
        await asyncio.sleep(0.05)
        cancelled.cancel()
        await asyncio.gather(cancelled, return_exceptions=True)
        network.gate.set()
        await first
    assert network.batches == [[0]]


async def test_a_request_cancelled_while_it_runs_harms_no_neighbour(tmp_path: Path) -> None:
    network = Fake()
    async with running(tmp_path, lambda *_: network) as engine:
        first = await held(engine, network)
        first.cancel()
        await asyncio.gather(first, return_exceptions=True)
        network.gate.set()
        assert (await engine.infer("one", pixels(1), SOON))[1].tolist() == [1]


async def test_stop_finishes_what_was_asked_and_refuses_the_rest(tmp_path: Path) -> None:
    network = Fake()
    async with running(tmp_path, lambda *_: network) as engine:
        first = await held(engine, network)
        second = asyncio.create_task(engine.infer("one", pixels(3), SOON))
        await asyncio.sleep(0.05)
        stopping = asyncio.create_task(engine.stop())
        await asyncio.sleep(0.05)
        network.gate.set()
        await stopping
        assert (await first)[1].tolist() == [0]
        assert (await second)[1].tolist() == [3]
        with pytest.raises(SluiceError, match="the engine has stopped"):
            await engine.infer("one", pixels(1), SOON)


async def test_a_network_is_opened_once_however_many_ask(tmp_path: Path) -> None:
    opened: list[str] = []

    def opener(entry: Entry, threads: int) -> Fake:
        opened.append(entry.card.name)
        return Fake()

    async with running(tmp_path, opener) as engine:
        await asyncio.gather(*(engine.load("one") for _ in range(5)), engine.infer("one", pixels(1), SOON))
        await engine.load("one")
    assert opened == ["one"]


async def test_a_network_that_cannot_be_opened_may_be_tried_again(tmp_path: Path) -> None:
    async with running(tmp_path, lambda *_: Fake()) as engine:
        weights = tmp_path / "one" / "net.onnx"
        (tmp_path / "one" / "model.yaml").rename(tmp_path / "aside")
        with pytest.raises(ModelError, match="unknown model 'one'"):
            await engine.load("one")
        (tmp_path / "aside").rename(tmp_path / "one" / "model.yaml")
        assert weights.exists()
        await engine.load("one")


async def test_a_card_is_known_without_loading(tmp_path: Path) -> None:
    async with running(tmp_path, lambda *_: Fake()) as engine:
        assert engine.card("one").classes == ("blue", "green", "red")
        with pytest.raises(ModelError, match="unknown model 'three'"):
            engine.card("three")


async def test_a_real_network_answers_like_itself(tmp_path: Path) -> None:
    engine = Engine(mean_model(tmp_path), threads=1, max_batch=4)
    await engine.start()
    rng = np.random.default_rng(1)
    batches = [rng.random((n, 3, 4, 4)).astype(np.float32) for n in (1, 3, 2, 5, 1)]
    answers = await asyncio.gather(*(engine.infer("means", batch, SOON) for batch in batches))
    await engine.stop()
    for batch, (means,) in zip(batches, answers, strict=True):
        np.testing.assert_allclose(means, batch.mean(axis=(2, 3)), rtol=1e-6)
    assert engine.stats().busy_s > 0
