from __future__ import annotations

import asyncio
import gc
import threading
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from weakref import ref

import numpy as np
import pytest

from serving.backend import Backend
from serving.catalogue.lookup import Catalogue
from serving.common.clock import SYSTEM, Clock
from serving.common.engine_observer import UNOBSERVED, EngineObserver
from serving.common.tensors import Array
from serving.engines.groups import Group, GroupRequest, NetworkGroup
from serving.errors import ModelError, SluiceError, TooLate
from serving.scheduling.limits import NetworkBounds
from serving.scheduling.requests import BACKGROUND, Urgency
from serving.variants.artefacts import ResolvedModel, folder
from serving.variants.profiles import path_of
from serving.variants.variant import parse
from tests.fake_clock import FakeClock
from tests.models import mean_model, relatives
from tests.pipelines.run.recording import Recording
from tests.turns import until

SOON, LATER = Urgency(1.0), Urgency(2.0)


class Fake:
    """A network that doubles its input, notes every batch, and holds while its gate is shut."""

    def __init__(self, batch_limit: int | None = None) -> None:
        self.batch_limit, self.size, self.closed = batch_limit, 100, False
        self.batches: list[list[float]] = []
        self.gate = threading.Event()
        self.gate.set()
        self.running = threading.Event()

    def check(self, batch: Array) -> None:
        if batch.dtype != np.float32:
            raise ModelError("float32 only")

    def run(self, batch: Array) -> list[Array]:
        self.running.set()
        assert self.gate.wait(120)
        self.batches.append(batch.ravel().tolist())
        if (batch < 0).any():
            raise ValueError("negative pixels")
        return [batch * 2, batch.sum(axis=1)]

    def memory_bytes(self) -> int:
        return self.size

    def close(self) -> None:
        self.closed = True


def pixels(*values: float) -> Array:
    return np.array(values, np.float32)[:, None]


@asynccontextmanager
async def running(
    tmp_path: Path,
    open_one: Callable[[ResolvedModel], Fake],
    max_batch: int = 16,
    memory_bytes: int | None = None,
    clock: Clock = SYSTEM,
    observer: EngineObserver = UNOBSERVED,
) -> AsyncIterator[Backend]:
    mean_model(tmp_path, "one")
    mean_model(tmp_path, "two")

    def opener(sources: Sequence[ResolvedModel], threads: int) -> Group:
        (source,) = sources
        return NetworkGroup(open_one(source))

    catalogue = Catalogue([tmp_path])
    room = NetworkBounds(memory_bytes, 1, max_batch)
    backend = Backend(catalogue, bounds=room, opener=opener, clock=clock, observer=observer)
    await backend.start()
    try:
        yield backend
    finally:
        await backend.stop()


async def queued() -> None:
    """Let the tasks begun so far put their requests into the queue."""
    for _ in range(5):
        await asyncio.sleep(0)


async def held(backend: Backend, network: Fake) -> asyncio.Task[list[Array]]:
    """Occupy the backend's thread until the gate opens."""
    network.gate.clear()
    task = asyncio.create_task(backend.infer("one", pixels(0), SOON))
    await asyncio.to_thread(network.running.wait, 10)
    return task


async def test_a_request_gets_its_outputs(tmp_path: Path) -> None:
    async with running(tmp_path, lambda _: Fake()) as backend:
        doubled, total = await backend.infer("one", pixels(1, 2), SOON)
    assert doubled.ravel().tolist() == [2, 4]
    assert total.tolist() == [1, 2]


async def test_waiting_requests_are_joined_and_split_again(tmp_path: Path) -> None:
    network = Fake()
    async with running(tmp_path, lambda _: network) as backend:
        first = await held(backend, network)
        rest = [asyncio.create_task(backend.infer("one", pixels(*values), SOON)) for values in ([1, 2], [3], [4, 5, 6])]
        await queued()
        network.gate.set()
        answers = await asyncio.gather(first, *rest)
    assert network.batches == [[0], [1, 2, 3, 4, 5, 6]]
    assert [answer[0].ravel().tolist() for answer in answers] == [[0], [2, 4], [6], [8, 10, 12]]
    assert (backend.stats().batches, backend.stats().items) == (2, 7)


async def test_batches_respect_the_backends_and_the_networks_limit(tmp_path: Path) -> None:
    network = Fake(batch_limit=2)
    async with running(tmp_path, lambda _: network, max_batch=3) as backend:
        first = await held(backend, network)
        rest = [asyncio.create_task(backend.infer("one", pixels(value), SOON)) for value in (1, 2, 3)]
        await queued()
        network.gate.set()
        await asyncio.gather(first, *rest)
        (doubled, _) = await backend.infer("one", pixels(7, 8, 9), SOON)
    assert network.batches == [[0], [1, 2], [3], [7, 8], [9]]
    assert doubled.ravel().tolist() == [14, 16, 18]


async def test_models_take_turns(tmp_path: Path) -> None:
    networks = {"one": Fake(), "two": Fake()}
    order: list[str] = []
    async with running(tmp_path, lambda source: networks[source.name]) as backend:
        await backend.load("two")
        first = await held(backend, networks["one"])

        async def ask(model: str, deadline: float) -> None:
            await backend.infer(model, pixels(1), deadline)
            order.append(model)

        later = asyncio.create_task(ask("one", LATER))
        sooner = asyncio.create_task(ask("two", SOON))
        await queued()
        networks["one"].gate.set()
        await asyncio.gather(first, later, sooner)
    assert order == ["two", "one"]


async def test_a_failing_batch_fails_only_its_own_requests(tmp_path: Path) -> None:
    async with running(tmp_path, lambda _: Fake()) as backend:
        with pytest.raises(SluiceError, match="model 'one' failed on a batch of 1: negative pixels"):
            await backend.infer("one", pixels(-1), SOON)
        assert (await backend.infer("one", pixels(1), SOON))[1].tolist() == [1]


async def test_requests_that_cannot_be_joined_fail_and_the_backend_goes_on(tmp_path: Path) -> None:
    network = Fake()
    async with running(tmp_path, lambda _: network) as backend:
        first = await held(backend, network)
        pair = [backend.infer("one", np.zeros((1, width), np.float32), SOON) for width in (2, 3)]
        joined = asyncio.gather(*pair, return_exceptions=True)
        await queued()
        network.gate.set()
        assert all(isinstance(answer, SluiceError) for answer in await joined)
        await first
        assert (await backend.infer("one", pixels(1), SOON))[1].tolist() == [1]


async def test_a_wrong_batch_is_refused_before_it_waits(tmp_path: Path) -> None:
    network = Fake()
    async with running(tmp_path, lambda _: network) as backend:
        with pytest.raises(ModelError, match="float32 only"):
            await backend.infer("one", pixels(1).astype(np.float64), SOON)
    assert network.batches == []


async def test_a_cancelled_request_is_not_run(tmp_path: Path) -> None:
    network = Fake()
    async with running(tmp_path, lambda _: network) as backend:
        first = await held(backend, network)
        cancelled = asyncio.create_task(backend.infer("one", pixels(5), SOON))
        await queued()
        cancelled.cancel()
        await asyncio.gather(cancelled, return_exceptions=True)
        network.gate.set()
        await first
    assert network.batches == [[0]]


async def test_a_request_cancelled_while_it_runs_harms_no_neighbour(tmp_path: Path) -> None:
    network = Fake()
    async with running(tmp_path, lambda _: network) as backend:
        first = await held(backend, network)
        first.cancel()
        await asyncio.gather(first, return_exceptions=True)
        network.gate.set()
        assert (await backend.infer("one", pixels(1), SOON))[1].tolist() == [1]


async def test_stop_finishes_what_was_asked_and_refuses_the_rest(tmp_path: Path) -> None:
    network = Fake()
    async with running(tmp_path, lambda _: network) as backend:
        first = await held(backend, network)
        second = asyncio.create_task(backend.infer("one", pixels(3), SOON))
        await queued()
        stopping = asyncio.create_task(backend.stop())
        await queued()
        network.gate.set()
        await stopping
        assert (await first)[1].tolist() == [0]
        assert (await second)[1].tolist() == [3]
        with pytest.raises(SluiceError, match="the engine has stopped"):
            await backend.infer("one", pixels(1), SOON)


async def test_a_network_is_opened_once_however_many_ask(tmp_path: Path) -> None:
    opened: list[str] = []

    def opener(source: ResolvedModel) -> Fake:
        opened.append(source.name)
        return Fake()

    async with running(tmp_path, opener) as backend:
        await asyncio.gather(*(backend.load("one") for _ in range(5)), backend.infer("one", pixels(1), SOON))
        await backend.load("one")
    assert opened == ["one"]


async def test_a_network_is_loaded_also_where_nobody_waits_as_long_as_that_takes(tmp_path: Path) -> None:
    opened, may_open = list[str](), threading.Event()

    def opener(source: ResolvedModel) -> Fake:
        opened.append(source.name)
        assert may_open.wait(120)
        return Fake()

    async with running(tmp_path, opener) as backend:
        for _ in range(3):  # as calls of others end, each at its own time
            waits = asyncio.create_task(backend.infer("one", pixels(1), SOON))
            await until(lambda: opened)
            waits.cancel()
            await asyncio.gather(waits, return_exceptions=True)
        may_open.set()
        assert (await backend.infer("one", pixels(1), SOON))[1].tolist() == [1]
    assert opened == ["one"]


async def test_whatever_opening_a_network_raises_is_told_as_an_error_of_the_model(tmp_path: Path) -> None:
    def opener(source: ResolvedModel) -> Fake:
        raise KeyError("a graph may be odd in any way")

    async with running(tmp_path, opener) as backend:
        with pytest.raises(ModelError, match=r"model 'one' cannot be opened: .*a graph may be odd in any way"):
            await backend.load("one")


async def test_a_network_that_cannot_be_opened_may_be_tried_again(tmp_path: Path) -> None:
    async with running(tmp_path, lambda _: Fake()) as backend:
        weights = tmp_path / "one" / "net.onnx"
        (tmp_path / "one" / "model.yaml").rename(tmp_path / "aside")
        with pytest.raises(ModelError, match="unknown model 'one'"):
            await backend.load("one")
        (tmp_path / "aside").rename(tmp_path / "one" / "model.yaml")
        assert weights.exists()
        await backend.load("one")


async def test_a_card_is_known_without_loading(tmp_path: Path) -> None:
    async with running(tmp_path, lambda _: Fake()) as backend:
        assert backend.card("one").classes == ("blue", "green", "red")
        with pytest.raises(ModelError, match="unknown model 'three'"):
            backend.card("three")


async def test_a_real_network_answers_like_itself(tmp_path: Path) -> None:
    backend = Backend(mean_model(tmp_path), bounds=NetworkBounds(threads=1, max_batch=4))
    await backend.start()
    rng = np.random.default_rng(1)
    batches = [rng.random((n, 3, 4, 4)).astype(np.float32) for n in (1, 3, 2, 5, 1)]
    answers = await asyncio.gather(*(backend.infer("means", batch, SOON) for batch in batches))
    await backend.stop()
    for batch, (means,) in zip(batches, answers, strict=True):
        np.testing.assert_allclose(means, batch.mean(axis=(2, 3)), rtol=1e-6)
    assert backend.stats().busy_s > 0


async def test_what_an_item_costs_is_known_by_model_once_it_has_run(tmp_path: Path) -> None:
    names = ["first", "second"]
    backend = Backend(relatives(tmp_path, names), artefacts_dir=tmp_path, bounds=NetworkBounds(threads=1))
    await backend.start()
    item = np.zeros((1, *backend.card("first").input.item_shape), np.dtype(backend.card("first").input.dtype))
    await backend.load("first")
    assert backend.processor_s("first") is None
    await backend.infer("first", item, SOON)
    alone = backend.processor_s("first")
    assert alone is not None
    assert alone > 0
    await backend.load("second")
    assert backend.processor_s("second") is None  # it has joined the first one's group, and has not run
    await backend.stop()


async def test_a_droppable_request_is_told_that_it_is_too_late(tmp_path: Path) -> None:
    network = Fake()
    async with running(tmp_path, lambda _: network) as backend:
        with pytest.raises(TooLate):
            await backend.infer("one", pixels(1), Urgency(0.0, droppable=True))
        await backend.infer("one", pixels(2), Urgency(0.0))
    assert network.batches == [[2]]
    assert (backend.stats().dropped, backend.stats().items) == (1, 1)


async def test_a_batch_that_is_not_answered_is_let_go(tmp_path: Path) -> None:
    """Not only when Python looks for circles."""
    async with running(tmp_path, lambda _: Fake()) as backend:
        batch = pixels(2)
        kept = ref(batch)
        gc.collect()
        gc.disable()
        try:
            with suppress(TooLate):
                await backend.infer("one", batch, Urgency(0.0, droppable=True))
            del batch
            await backend.infer("one", pixels(1), SOON)
            assert kept() is None
        finally:
            gc.enable()
    assert backend.stats().dropped == 1


async def test_background_work_runs_when_nothing_else_waits(tmp_path: Path) -> None:
    network = Fake()
    async with running(tmp_path, lambda _: network) as backend:
        first = await held(backend, network)
        audit = asyncio.create_task(backend.infer("one", pixels(1), BACKGROUND))
        await queued()
        urgent = asyncio.create_task(backend.infer("one", pixels(2), SOON))
        await queued()
        network.gate.set()
        await asyncio.gather(first, audit, urgent)
    assert network.batches == [[0], [2], [1]]


async def test_a_network_leaves_when_another_needs_its_memory_and_comes_back(tmp_path: Path) -> None:
    opened: list[tuple[str, Fake]] = []

    def opener(source: ResolvedModel) -> Fake:
        opened.append((source.name, network := Fake()))
        network.size = 1000
        return network

    heard = Recording()
    async with running(tmp_path, opener, memory_bytes=1500, observer=heard) as backend:
        for model in ("one", "two", "one"):
            assert (await backend.infer(model, pixels(3), SOON))[1].tolist() == [3]
    assert [name for name, _ in opened] == ["one", "two", "one"]
    assert [name for name, *_ in heard.calls["model_loaded"]] == ["one", "two", "one"]
    assert heard.calls["model_unloaded"] == [("one",), ("two",)]
    assert [network.closed for _, network in opened] == [True, True, False]


async def test_a_network_in_use_is_waited_for_and_not_closed(tmp_path: Path) -> None:
    networks = {"one": Fake(), "two": Fake()}
    for network in networks.values():
        network.size = 1000
    opened = threading.Event()

    def opener(source: ResolvedModel) -> Fake:
        if source.name == "two":
            opened.set()
        return networks[source.name]

    async with running(tmp_path, opener, memory_bytes=1500) as backend:
        first = await held(backend, networks["one"])
        second = asyncio.create_task(backend.infer("two", pixels(2), SOON))
        await asyncio.to_thread(opened.wait, 10)
        await queued()
        assert not networks["one"].closed
        assert not second.done()
        networks["one"].gate.set()
        await asyncio.gather(first, second)
        assert networks["one"].closed


async def test_a_network_is_unloaded_once_nobody_uses_it_and_loaded_when_it_is_asked_for(tmp_path: Path) -> None:
    opened: list[Fake] = []

    def opener(source: ResolvedModel) -> Fake:
        opened.append(network := Fake())
        return network

    async with running(tmp_path, opener) as backend:
        await backend.unload("one")
        await backend.infer("one", pixels(1), SOON)
        first = await held(backend, opened[0])
        leaving = asyncio.create_task(backend.unload("one"))
        await queued()
        assert not opened[0].closed
        opened[0].gate.set()
        await asyncio.gather(first, leaving)
        assert opened[0].closed
        assert (await backend.infer("one", pixels(3), SOON))[1].tolist() == [3]
    assert len(opened) == 2


async def test_a_network_larger_than_all_memory_is_refused_with_both_sizes(tmp_path: Path) -> None:
    def opener(_: ResolvedModel) -> Fake:
        network = Fake()
        network.size = 5 << 20
        return network

    async with running(tmp_path, opener, memory_bytes=2 << 20) as backend:
        with pytest.raises(ModelError, match=r"one: takes 5.0 MiB of memory, the budget for all models is 2.0 MiB"):
            await backend.infer("one", pixels(1), SOON)


async def test_networks_that_begin_alike_run_their_common_layers_as_one_batch(tmp_path: Path) -> None:
    """Two copies of a shipped network whose last layers differ answer as they do by themselves."""
    names = ["left", "right"]
    catalogue = relatives(tmp_path, names)
    batch = np.random.default_rng(1).random((2, 3, 48, 48), np.float32)
    alone = [await _alone(catalogue, name, batch) for name in names]
    backend = Backend(catalogue, bounds=NetworkBounds(threads=1))
    await backend.start()
    try:
        for name in names:
            await backend.load(name)
        batches = 2
        for _ in range(20):  # on a busy machine a single batch may be expected to be too late
            before = backend.stats().batches
            (left,), (right,) = await asyncio.gather(*(backend.infer(name, batch, SOON) for name in names))
            batches = min(batches, backend.stats().batches - before)
    finally:
        await backend.stop()
    assert batches == 1
    assert np.abs(left - right).max() > 0.1
    np.testing.assert_allclose(left, alone[0], atol=1e-4)
    np.testing.assert_allclose(right, alone[1], atol=1e-4)


async def test_requests_that_wait_while_their_network_joins_another_are_answered(tmp_path: Path) -> None:
    catalogue = relatives(tmp_path, ["left", "right"])
    backend = Backend(catalogue, bounds=NetworkBounds(threads=1))
    await backend.start()
    batch = np.zeros((1, 3, 48, 48), np.float32)
    try:
        await backend.load("left")
        answers = [asyncio.create_task(backend.infer("left", batch, SOON)) for _ in range(30)]
        assert backend.run_with("left") == {"left"}
        await asyncio.gather(backend.load("right"), *answers)
        assert backend.run_with("left") == backend.run_with("right") == {"left", "right"}
        await backend.unload("right")
        assert backend.run_with("left") == frozenset()
    finally:
        await backend.stop()
    assert backend.stats().items == 30


class FakeGroup:
    """Networks that answer with their input; each run waits for the gate."""

    batch_limit = None

    def __init__(self, size: int) -> None:
        self.size, self.closed, self.ran = size, False, 0
        self.gate, self.running, self.opened = threading.Event(), threading.Event(), threading.Event()

    def check(self, model: str, batch: Array) -> None:
        pass

    def run(self, asked: Sequence[GroupRequest], step: int) -> list[list[Array]]:
        self.running.set()
        assert self.gate.wait(120)
        assert not self.closed
        self.ran += 1
        return [[each.batch] for each in asked]

    def memory_bytes(self) -> int:
        return self.size

    def close(self) -> None:
        self.closed = True


@asynccontextmanager
async def growing(
    tmp_path: Path, sizes: dict[str, int], memory: int
) -> AsyncIterator[tuple[Backend, dict[str, FakeGroup]]]:
    """``left`` and ``right`` begin alike, ``one`` does not; groups are noted under their members. Memory is in MiB."""
    catalogue = relatives(tmp_path, ["left", "right"])
    mean_model(tmp_path, "one")
    groups = {name: FakeGroup(size << 20) for name, size in sizes.items()}

    def opener(sources: Sequence[ResolvedModel], threads: int) -> Group:
        group = groups["+".join(source.name for source in sources)]
        group.closed = False
        group.opened.set()
        return group

    backend = Backend(catalogue, bounds=NetworkBounds(memory << 20, 1), opener=opener)
    await backend.start()
    try:
        yield backend, groups
    finally:
        for group in groups.values():
            group.gate.set()
        await backend.stop()


async def test_a_group_that_grows_ends_its_batch_before_it_closes_and_hands_on_who_waits(tmp_path: Path) -> None:
    async with growing(tmp_path, {"left": 5, "left+right": 6}, 20) as (backend, groups):
        left, both = groups["left"], groups["left+right"]
        first = asyncio.create_task(backend.infer("left", pixels(1), SOON))
        await asyncio.to_thread(left.running.wait, 10)
        second = asyncio.create_task(backend.infer("left", pixels(2), SOON))
        loading = asyncio.create_task(backend.load("right"))
        await asyncio.to_thread(both.opened.wait, 10)
        await queued()
        assert not left.closed
        left.gate.set()
        both.gate.set()
        await asyncio.gather(first, second, loading)
        assert (left.ran, both.ran, left.closed) == (1, 1, True)


async def test_a_group_that_others_grew_into_stays_while_they_wait(tmp_path: Path) -> None:
    sizes = {"left": 5, "left+right": 6, "one": 10}
    async with growing(tmp_path, sizes, 15) as (backend, groups):
        left, both = groups["left"], groups["left+right"]
        first = asyncio.create_task(backend.infer("left", pixels(1), SOON))
        await asyncio.to_thread(left.running.wait, 10)
        second = asyncio.create_task(backend.infer("left", pixels(2), SOON))
        loading = asyncio.create_task(backend.load("right"))
        await asyncio.to_thread(both.opened.wait, 10)
        await queued()
        left.gate.set()
        await asyncio.to_thread(both.running.wait, 10)
        other = asyncio.create_task(backend.load("one"))
        await asyncio.to_thread(groups["one"].opened.wait, 10)
        await queued()
        assert not both.closed
        both.gate.set()
        await asyncio.gather(first, second, loading, other)
        assert both.closed


async def test_models_that_fit_only_one_at_a_time_are_not_joined(tmp_path: Path) -> None:
    sizes = {"left": 5, "left+right": 12, "right": 5}
    async with growing(tmp_path, sizes, 10) as (backend, groups):
        for group in groups.values():
            group.gate.set()
        for model in ("left", "right", "left"):
            await backend.infer(model, pixels(1), SOON)
        assert (groups["left"].ran, groups["right"].ran, groups["left+right"].ran) == (2, 1, 0)


async def test_a_partners_weights_are_verified_before_they_are_compared(tmp_path: Path) -> None:
    catalogue = relatives(tmp_path, ["left", "right"])
    backend = Backend(catalogue, bounds=NetworkBounds(threads=1))
    await backend.start()
    try:
        await backend.load("left")
        weights = tmp_path / "right" / "net.onnx"
        weights.write_bytes(weights.read_bytes()[:-100])
        with pytest.raises(ModelError, match="damaged or another file"):
            await backend.load("right")
    finally:
        await backend.stop()


async def test_one_slow_spell_does_not_drop_everything_after_it(tmp_path: Path) -> None:
    network, clock = Fake(), FakeClock()
    async with running(tmp_path, lambda _: network, clock=clock) as backend:
        first = await held(backend, network)
        clock.advance(0.3)
        network.gate.set()
        await first
        answers = 0
        for _ in range(60):
            with suppress(TooLate):
                await backend.infer("one", pixels(1), Urgency(clock.monotonic_s() + 0.15, droppable=True))
                answers += 1
    assert answers


async def test_a_damaged_profile_is_told_of_and_not_used(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    catalogue = mean_model(tmp_path, "one")
    entry = catalogue.find("one")
    path = path_of(folder(tmp_path / "cache", entry), parse("one"))
    path.parent.mkdir(parents=True)
    path.write_text("{")
    backend = Backend(catalogue, artefacts_dir=tmp_path / "cache", bounds=NetworkBounds(threads=1))
    await backend.start()
    try:
        await backend.load("one")
    finally:
        await backend.stop()
    assert "not a profile" in caplog.text
    assert "sluice models profile one" in caplog.text


async def _alone(catalogue: Catalogue, name: str, batch: Array) -> Array:
    backend = Backend(catalogue, bounds=NetworkBounds(threads=1))
    await backend.start()
    try:
        return (await backend.infer(name, batch, SOON))[0]
    finally:
        await backend.stop()


async def test_a_variant_that_is_not_built_says_how_to_build_it(tmp_path: Path) -> None:
    mean_model(tmp_path, "one")
    backend = Backend(Catalogue([tmp_path]), artefacts_dir=tmp_path / "cache", bounds=NetworkBounds(threads=1))
    await backend.start()
    try:
        assert backend.card("one@onnxruntime-int8").name == "one"
        with pytest.raises(ModelError, match="not built yet; build it with: sluice models profile one"):
            await backend.load("one@onnxruntime-int8")
        with pytest.raises(ModelError, match="unknown engine 'onnx'"):
            await backend.load("one@onnx-fp32")
    finally:
        await backend.stop()


async def test_a_model_runs_in_the_engine_that_its_name_says(tmp_path: Path) -> None:
    backend = Backend(mean_model(tmp_path), bounds=NetworkBounds(threads=1))
    await backend.start()
    batch = np.random.default_rng(1).random((3, 3, 4, 4)).astype(np.float32)
    try:
        (means,) = await backend.infer("means@openvino-fp32", batch, SOON)
    finally:
        await backend.stop()
    np.testing.assert_allclose(means, batch.mean(axis=(2, 3)), rtol=1e-5)


async def test_a_detector_has_a_network_for_each_shape_with_its_own_queue_and_memory(tmp_path: Path) -> None:
    """The networks are fakes: a real one runs in ``tests/operators/detect/test_onnx.py``."""
    networks: dict[str, Fake] = {}

    def opened(source: ResolvedModel) -> Fake:
        assert source.shape == ((416, 256) if "+" in source.name else None)
        assert source.card.input.width == 416
        return networks.setdefault(source.name, Fake())

    square = {"width": 416, "height": 416, "resize": "letterbox"}
    loaded = Recording()
    async with running(tmp_path, opened, observer=loaded) as backend:
        mean_model(tmp_path, "one", task="detect", decoding={"kind": "yolox"}, input=square)
        own, flat = backend.card("one"), await backend.fitted("one", 1280, 720)
        for card in (own, flat, flat):
            await backend.infer("one", np.zeros((1, *card.input.item_shape), np.float32), SOON)
        assert backend.processor_s("one") is not None
        assert backend.loaded == ["one"]
        await backend.unload("one")
        assert backend.loaded == []
        assert [network.closed for network in networks.values()] == [True, True]
    assert flat.input.item_shape == (3, 256, 416)
    assert {name: len(network.batches) for name, network in networks.items()} == {"one": 1, "one+416x256": 2}
    assert [name for name, *_ in loaded.calls["model_loaded"]] == ["one+416x256", "one"]
