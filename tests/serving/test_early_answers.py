"""Early answers through the backend, with the real engine: they leave while the device's thread is in the batch."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import NamedTuple

import numpy as np
import onnx
import pytest
from numpy.typing import NDArray

from serving.backend import Backend
from serving.catalogue.lookup import SHIPPED, Catalogue
from serving.common.tensors import Array
from serving.engines.exits import ExitResult, ExitSet, RowPolicy
from serving.errors import OutOfService, SluiceError, TooLate
from serving.graphs.cut_points import cut_points
from serving.graphs.taps import tap_grid
from serving.scheduling.limits import NetworkBounds, TimeLimits
from serving.scheduling.requests import Urgency

SOON = Urgency(1.0)
MODEL = "street-kind"


class Said(NamedTuple):
    distribution: NDArray[np.float32]
    hit: NDArray[np.bool_]


class First:
    """Answers as it is told for each batch."""

    def __init__(self) -> None:
        self.hits: list[Sequence[bool]] = []

    def look(self, features: NDArray[np.float32]) -> Said:
        hit = self.hits.pop(0) if self.hits else [False] * len(features)
        return Said(np.tile(np.float32([0.75, 0.25]), (len(features), 1)), np.array(hit))


class Second:
    """Answers nothing, holds the device's thread at every batch until that one may pass, and may fail."""

    def __init__(self) -> None:
        self.passes, self.reached, self.fails = threading.Semaphore(0), threading.Event(), False

    def look(self, features: NDArray[np.float32]) -> Said:
        self.reached.set()
        assert self.passes.acquire(timeout=20)
        if self.fails:
            raise ValueError("no such exit")
        return Said(np.zeros((len(features), 2), np.float32), np.zeros(len(features), np.bool_))


class World:
    def __init__(self, limits: TimeLimits) -> None:
        network = onnx.load(Catalogue([SHIPPED]).find(MODEL).path)
        points = [point.tensor for point in cut_points(network) if tap_grid(point)]
        cuts = points[len(points) // 3], points[2 * len(points) // 3]
        self.first, self.second = First(), Second()
        self.exits = ExitSet(dict(zip(cuts, (self.first, self.second), strict=True)), 2)
        self.backend = Backend(Catalogue([SHIPPED]), bounds=NetworkBounds(threads=1, time=limits))
        self.name = self.backend.add_cuts(MODEL, cuts)
        self.rng = np.random.default_rng(0)

    def items(self, count: int) -> Array:
        return self.rng.random((count, *self.backend.card(MODEL).input.item_shape), np.float32)

    def ask(self, count: int, urgency: Urgency = SOON) -> tuple[asyncio.Task[list[Array]], asyncio.Future[list[Array]]]:
        early: asyncio.Future[list[Array]] = asyncio.get_running_loop().create_future()
        return asyncio.create_task(self.infer(count, early, urgency)), early

    async def infer(
        self, count: int, early: asyncio.Future[list[Array]] | None = None, urgency: Urgency = SOON
    ) -> list[Array]:
        """All rows run on, whoever answers for them."""
        policy = RowPolicy(self.exits, np.zeros(count, np.bool_))
        return await self.backend.infer(self.name, self.items(count), urgency, early, policy)

    async def occupied(self) -> asyncio.Task[list[Array]]:
        """A request that waits in the second exit; the network is loaded, and how long it takes is known."""
        self.second.passes.release()
        await self.infer(1)
        self.second.reached.clear()
        blocker, _ = self.ask(1)
        await asyncio.to_thread(self.second.reached.wait, 20)
        return blocker

    async def held(self, hits: Sequence[bool], *counts: int) -> list[tuple[asyncio.Task, asyncio.Future]]:
        """Requests that run as one batch, whose thread now waits in the second exit."""
        blocker = await self.occupied()
        asked = [self.ask(count) for count in counts]
        await queued()
        self.first.hits = [hits]
        self.second.passes.release()
        await blocker
        return asked


async def queued() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


@asynccontextmanager
async def running(limits: TimeLimits | None = None) -> AsyncIterator[World]:
    world = World(limits or TimeLimits())
    await world.backend.start()
    try:
        yield world
    finally:
        world.second.passes.release(100)
        await world.backend.stop()


async def in_one_batch(world: World) -> list[tuple[asyncio.Task, asyncio.Future]]:
    """Two requests, of which the first one's items are all answered at the first exit."""
    while True:
        asked = await world.held([True, True, False], 2, 1)
        (first, early), (second, _) = asked
        await asyncio.wait([early, first, second], timeout=20, return_when=asyncio.FIRST_COMPLETED)
        if early.done() and not first.done():
            return asked
        world.second.passes.release()  # a busy machine may run them apart
        await asyncio.gather(first, second, return_exceptions=True)


async def test_an_answer_leaves_while_the_batch_runs_on_and_the_whole_follows_for_all() -> None:
    async with running() as world:
        (first, early), (second, late) = await in_one_batch(world)
        so_far = ExitResult.of(early.result())
        assert so_far.place.tolist() == [0, 0]
        assert not so_far.left.any()
        await queued()
        assert not first.done()
        world.second.passes.release()
        whole, other = ExitResult.of(await first), ExitResult.of(await second)
        assert whole.place.tolist() == [0, 0]
        assert (whole.scores != 0).any()
        assert other.place.tolist() == [2]
        assert not late.done()


async def test_where_the_batch_fails_later_the_early_answer_stays() -> None:
    async with running() as world:
        (first, early), (second, late) = await in_one_batch(world)
        world.second.fails = True
        world.second.passes.release()
        for task in (first, second):
            with pytest.raises(SluiceError, match="no such exit"):
                await task
        assert ExitResult.of(early.result()).place.tolist() == [0, 0]
        assert not late.done()
        world.second.fails = False
        world.second.passes.release()
        assert len(await world.infer(1)) > 0


async def test_a_request_that_is_cancelled_after_its_early_answer_harms_no_neighbour() -> None:
    async with running() as world:
        (first, early), (second, _) = await in_one_batch(world)
        first.cancel()
        await asyncio.gather(first, return_exceptions=True)
        world.second.passes.release()
        assert ExitResult.of(await second).place.tolist() == [2]
        assert early.done()


async def test_a_cancelled_request_gets_no_early_answer() -> None:
    async with running() as world:
        blocker = await world.occupied()
        world.first.hits = [[True]]
        task, early = world.ask(1)
        await queued()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        world.second.passes.release(2)
        await blocker
        await world.infer(1)
        assert not early.done()


async def test_an_early_future_that_nobody_waits_for_any_more_is_left_alone() -> None:
    async with running() as world:
        world.second.passes.release()
        world.first.hits = [[True]]
        early: asyncio.Future[list[Array]] = asyncio.get_running_loop().create_future()
        early.cancel()
        found = await world.infer(1, early)
        assert ExitResult.of(found).place.tolist() == [0]


async def test_a_request_that_is_too_late_has_no_early_answer() -> None:
    async with running() as world:
        world.second.passes.release()
        await world.infer(1)
        world.first.hits = [[True]]
        task, early = world.ask(1, Urgency(0.0, droppable=True))
        with pytest.raises(TooLate):
            await task
        assert not early.done()


async def test_a_batch_that_does_not_return_fails_after_its_early_answers() -> None:
    async with running(TimeLimits(1.0)) as world:
        (first, early), _ = await in_one_batch(world)
        with pytest.raises(OutOfService):
            await first
        assert ExitResult.of(early.result()).place.tolist() == [0, 0]


async def test_a_network_without_exits_answers_as_ever() -> None:
    async with running() as world:
        early: asyncio.Future[list[Array]] = asyncio.get_running_loop().create_future()
        (scores,) = await world.backend.infer(MODEL, world.items(2), SOON, early)
        assert len(scores) == 2
        assert not early.done()
