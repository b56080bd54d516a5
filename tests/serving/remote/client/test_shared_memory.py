"""Pictures travel through shared memory on one machine, as long as the server takes it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest

from serving.catalogue.lookup import Catalogue
from serving.remote.client import region_ring
from serving.remote.client.region_ring import RegionRing
from serving.remote.protocol import region_file
from serving.remote.protocol.parameters import REGION, values
from serving.scheduling.requests import Urgency
from tests.models import mean_model
from tests.serving.remote.client.conftest import Connected
from tests.serving.remote.client.test_backend_client import ours
from tests.serving.remote.v2_server import LIMITS, V2Server, serving
from tests.turns import until

SIDE = 128
LARGE = np.random.default_rng(1).integers(0, 256, (2, SIDE, SIDE, 3), np.uint8)
MEANS = LARGE.astype(np.float32).mean((1, 2))
SOON = Urgency(float("inf"))


@pytest.fixture
def catalogue(tmp_path: Path) -> Catalogue:
    return mean_model(tmp_path / "large", input={"width": SIDE, "height": SIDE, "colour": "bgr"})


@pytest.fixture(autouse=True)
def folder(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Regions of this test only, of which none is left; those of tests at the same time lie beside it."""
    if not region_file.available():
        pytest.skip("this machine has no shared memory")
    with TemporaryDirectory(dir=region_file.FOLDER) as name:
        monkeypatch.setattr(region_file, "FOLDER", place := Path(name))
        yield place
        assert list(place.iterdir()) == []


def shared(server: V2Server) -> list[bool]:
    """Whether the pictures lay in a region, for each call."""
    return [REGION in values(each.inputs[0].parameters, LIMITS) for each in server.asked]


async def test_regions_are_used_again_and_taken_away(catalogue: Catalogue, connected: Connected) -> None:
    server = ours(catalogue, shares_memory=True)
    async with serving(server), connected(server) as client:
        await client.load("means")
        for _ in range(3):
            (answer,) = await client.infer("means", LARGE, SOON)
            np.testing.assert_array_equal(answer, MEANS)
        assert shared(server) == [True] * 4
        assert len(server._regions) == 1
        server.delay_s = 0.05
        await asyncio.gather(*(client.infer("means", LARGE, SOON) for _ in range(5)))
        assert len(server._regions) == 5


async def test_a_server_without_shared_memory_gets_messages(catalogue: Catalogue, connected: Connected) -> None:
    server = ours(catalogue)
    async with serving(server), connected(server) as client:
        (answer,) = await client.infer("means", LARGE, SOON)
        np.testing.assert_array_equal(answer, MEANS)
        assert shared(server) == [False, False]


async def test_small_batches_travel_in_the_message(catalogue: Catalogue, connected: Connected) -> None:
    server = ours(catalogue, shares_memory=True)
    async with serving(server), connected(server) as client:
        await client.load("means")
        before = len(server.asked)
        await client.infer("means", LARGE[:1, :8, :8], SOON)
        assert shared(server)[before:] == [False]


async def test_a_server_that_has_begun_anew_is_told_of_regions_again(
    catalogue: Catalogue, connected: Connected
) -> None:
    server = ours(catalogue, shares_memory=True)
    async with serving(server), connected(server) as client:
        await client.infer("means", LARGE, SOON)
        server._regions.clear()  # as a server that was started anew
        server.asked.clear()
        (answer,) = await client.infer("means", LARGE, SOON)
        np.testing.assert_array_equal(answer, MEANS)
        (answer,) = await client.infer("means", LARGE, SOON)
        assert shared(server)[-1]


async def test_regions_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    registered: list[str] = []

    async def register(name: str, size: int) -> bool:
        registered.append(name)
        return True

    ring = RegionRing(register)
    monkeypatch.setattr(region_ring, "MOST_REGIONS", 2)
    lent = [await ring.lend(LARGE) for _ in range(3)]
    assert [each is not None for each in lent] == [True, True, False]
    first = lent[0]
    assert first is not None
    ring.give_back(first)
    again = await ring.lend(LARGE)
    assert again is not None
    assert again is first
    ring.lose(again)
    assert await ring.lend(LARGE) is not None
    assert len(registered) == 3
    monkeypatch.setattr(region_ring, "MOST_REGION_BYTES", 1 << 20)
    assert await ring.lend(np.zeros((1, 1024, 1024, 3), np.uint8)) is None
    ring.close()


async def test_a_region_that_was_cut_short_is_not_used() -> None:
    async def register(name: str, size: int) -> bool:
        return True

    ring = RegionRing(register)
    lent = await ring.lend(LARGE)
    assert lent is not None
    ring.give_back(lent)
    with (region_file.FOLDER / lent.name).open("r+b") as file:
        file.truncate(10)
    assert await ring.lend(LARGE) is not None
    ring.close()


async def test_a_region_is_taken_away_where_its_call_ends_before_the_server_knows_it() -> None:
    asked = asyncio.Event()

    async def register(name: str, size: int) -> bool:
        asked.set()
        await asyncio.sleep(60)
        return True

    ring = RegionRing(register)
    lending = asyncio.create_task(ring.lend(LARGE))
    await asked.wait()
    lending.cancel()
    await asyncio.gather(lending, return_exceptions=True)
    assert not ring._all
    assert not ring._left


async def test_after_a_region_that_is_not_taken_another_is_tried_ever_more_seldom(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    takes, tried = [False], list[bool]()

    async def register(name: str, size: int) -> bool:
        tried[-1] = True
        return takes[0]

    ring = RegionRing(register)
    monkeypatch.setattr(region_ring, "LEAST_REST", 2)
    lent = None
    while lent is None:
        takes[0] = len(tried) >= 20
        tried.append(False)
        lent = await ring.lend(LARGE)
    assert [call for call, is_tried in enumerate(tried) if is_tried] == [0, 3, 8, 17, 34]
    ring.give_back(lent)
    assert await ring.lend(LARGE) is lent, "it is used as before"
    ring.close()


async def test_a_region_that_was_taken_is_used_where_another_is_not() -> None:
    takes = [True]

    async def register(name: str, size: int) -> bool:
        return takes[0]

    ring = RegionRing(register)
    first = await ring.lend(LARGE)
    assert first is not None
    takes[0] = False
    assert await ring.lend(LARGE) is None
    ring.give_back(first)
    assert await ring.lend(LARGE) is first
    ring.close()


async def test_memory_is_shared_with_the_server_that_follows_one_which_took_none(
    catalogue: Catalogue, connected: Connected
) -> None:
    server = ours(catalogue)
    async with serving(server), connected(server) as client:
        await client.infer("means", LARGE, SOON)
        await server.stop()
        await until(lambda: not client.may_answer)
        server.shares_memory = True
        await server.start()
        await until(lambda: client.may_answer)
        await client.infer("means", LARGE, SOON)
        assert shared(server)[-1]
