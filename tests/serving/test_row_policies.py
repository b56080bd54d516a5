"""Policies of rows through the backend, with the real engine: they travel with the request to the device and back."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Sequence
from typing import NamedTuple

import numpy as np
import onnx
import pytest
from numpy.typing import NDArray

from serving.backend import Backend
from serving.catalogue.lookup import SHIPPED, Catalogue
from serving.common.tensors import Array
from serving.engines.exits import ExitResult, ExitSet, RowPolicy
from serving.errors import ModelError
from serving.graphs.cut_points import cut_points
from serving.graphs.taps import tap_grid
from serving.scheduling.limits import NetworkBounds
from serving.scheduling.requests import Urgency

SOON = Urgency(1.0)
MODEL = "street-kind"


class Said(NamedTuple):
    distribution: NDArray[np.float32]
    hit: NDArray[np.bool_]


class Says:
    """Is sure of the rows it is told, or of all or none; waits until it may go on, and may fail."""

    def __init__(self, sure: Sequence[bool] | bool, waits: bool = False) -> None:
        self._sure, self._waits, self.fails = sure, waits, False
        self.reached, self.passes = threading.Event(), threading.Event()

    def look(self, features: NDArray[np.float32]) -> Said:
        self.reached.set()
        assert not self._waits or self.passes.wait(timeout=120)
        if self.fails:
            raise ValueError("no such exit")
        hit = np.array(self._sure) if isinstance(self._sure, Sequence) else np.full(len(features), self._sure)
        return Said(np.tile(np.float32([0.75, 0.25]), (len(features), 1)), hit)


class World:
    def __init__(self) -> None:
        network = onnx.load(Catalogue([SHIPPED]).find(MODEL).path)
        points = [point.tensor for point in cut_points(network) if tap_grid(point)]
        self.cuts = points[len(points) // 3], points[2 * len(points) // 3]
        self.backend = Backend(Catalogue([SHIPPED]), bounds=NetworkBounds(threads=1))
        self.name = self.backend.add_cuts(MODEL, self.cuts)
        self.rng = np.random.default_rng(0)

    def items(self, count: int) -> Array:
        return self.rng.random((count, *self.backend.card(MODEL).input.item_shape), np.float32)

    def policy(self, first: Says, second: Says | None = None, leaves: Sequence[bool] | None = None) -> RowPolicy:
        exits = {cut: exit_ for cut, exit_ in zip(self.cuts, (first, second), strict=True) if exit_ is not None}
        return RowPolicy(ExitSet(exits, 2), None if leaves is None else np.array(leaves))

    async def infer(self, batch: Array, policy: RowPolicy | None = None) -> ExitResult:
        return ExitResult.of(await self.backend.infer(self.name, batch, SOON, policy=policy))


@pytest.fixture
async def world() -> AsyncIterator[World]:
    made = World()
    await made.backend.start()
    yield made
    await made.backend.stop()


async def queued() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def test_the_same_cuts_of_a_model_are_one_session_beside_the_model(world: World) -> None:
    assert world.name != MODEL
    assert world.backend.add_cuts(MODEL, list(world.cuts)) == world.name
    assert world.backend.add_cuts(MODEL, world.cuts[:1]) != world.name
    assert world.backend.card(world.name) == world.backend.card(MODEL)
    batch = world.items(3)
    found = await world.infer(batch)
    np.testing.assert_array_equal(found.scores, (await world.backend.infer(MODEL, batch, SOON))[0])
    assert found.place.tolist() == [2, 2, 2]
    assert all(tap.shape[0] == 3 and tap.shape[1] and (tap != 0).any() for tap in found.taps)
    assert world.backend.processor_s(world.name) is not None


async def test_requests_that_share_a_batch_keep_their_policies(world: World) -> None:
    blocker = Says(False, waits=True)
    ahead = asyncio.create_task(world.infer(world.items(1), world.policy(blocker)))
    await asyncio.to_thread(blocker.reached.wait, 20)
    before = world.backend.stats().batches
    tasks = [
        asyncio.create_task(world.infer(world.items(2), world.policy(Says([True, False])))),
        asyncio.create_task(world.infer(world.items(1))),
        asyncio.create_task(world.infer(world.items(2), world.policy(Says(False), Says(True), [False, True]))),
    ]
    await queued()
    blocker.passes.set()
    await ahead
    found = await asyncio.gather(*tasks)
    assert [each.place.tolist() for each in found] == [[0, 2], [2], [1, 1]]
    assert [each.left.tolist() for each in found] == [[True, False], [False], [False, True]]
    assert [each.distribution.shape for each in found] == [(2, 2), (1, 0), (2, 2)]
    assert world.backend.stats().batches <= before + 3


async def test_a_damaged_policy_is_refused_before_anything_is_loaded(world: World) -> None:
    batch = world.items(2)
    for policy, message in [
        (world.policy(Says(True), None, [True]), "told by 2 bools"),
        (RowPolicy(ExitSet({"nowhere": Says(True)}, 2)), "has no cut at 'nowhere'"),
    ]:
        with pytest.raises(ModelError, match=message):
            await world.infer(batch, policy)
    with pytest.raises(ModelError, match="'street-kind' is not cut, and takes no policy"):
        await world.backend.infer(MODEL, batch, SOON, policy=RowPolicy())
    assert world.backend.stats().batches == 0


async def test_cuts_where_a_network_cannot_be_cut_are_refused_when_it_is_loaded(world: World) -> None:
    with pytest.raises(ModelError, match="there can be no exit at 'nowhere'"):
        await world.backend.load(world.backend.add_cuts(MODEL, ["nowhere"]))
    with pytest.raises(ModelError, match="cannot cut at"):
        await world.backend.load(world.backend.add_cuts(MODEL, world.cuts[::-1]))
    with pytest.raises(ModelError):
        world.backend.add_cuts("unheard-of", world.cuts)
