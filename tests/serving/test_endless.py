"""Networks that never return: their requests fail, the others are served on."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import numpy as np
import pytest

from serving.backend import Backend
from serving.catalogue.lookup import Catalogue
from serving.common.tensors import Array
from serving.engines.groups import Group, NetworkGroup
from serving.errors import OutOfService, SluiceError
from serving.loading.opening import open_group
from serving.scheduling.limits import NetworkBounds
from serving.scheduling.requests import Urgency
from serving.variants.artefacts import ResolvedModel
from tests.endless import TRIPS, looping_model, slow_to_open_model
from tests.models import mean_model

SOON = Urgency(1.0)


DARK, BRIGHT = np.zeros((2, 3, 4, 4), np.float32), np.ones((2, 3, 4, 4), np.float32)
LIMITS = NetworkBounds(threads=1, batch_s=0.5)
OUT = r"model 'endless' did not return from a batch of 2 within 0.5 s and is out of service .* SLUICE_MODEL_TIMEOUT"


@asynccontextmanager
async def serving(catalogue: Catalogue, **given: object) -> AsyncIterator[Backend]:
    backend = Backend(catalogue, bounds=LIMITS, **given)  # type: ignore[arg-type]
    await backend.start()
    try:
        yield backend
    finally:
        await backend.stop()


@pytest.fixture
def gate() -> Iterator[threading.Event]:
    """Opens at the end, so that the threads which wait for it end too."""
    gate = threading.Event()
    yield gate
    gate.set()


@pytest.fixture(autouse=True)
def nothing_opens_any_more() -> Iterator[None]:
    """A thread inside a network when Python ends aborts the process of the tests."""
    yield
    for thread in threading.enumerate():
        if thread.name == "loading":
            thread.join()


class Deaf:
    """A network that cannot be asked to end."""

    batch_limit = None

    def __init__(self, gate: threading.Event) -> None:
        self._gate = gate

    def check(self, batch: Array) -> None:
        pass

    def run(self, batch: Array) -> list[Array]:
        self._gate.wait()
        return [batch]

    def memory_bytes(self) -> int:
        return 100

    def close(self) -> None:
        pass


async def test_a_real_endless_loop_fails_its_requests_and_frees_its_thread(tmp_path: Path) -> None:
    looping_model(tmp_path, trips=TRIPS)
    async with serving(mean_model(tmp_path)) as backend:
        assert (await backend.infer("endless", DARK, SOON))[0].tolist() == np.zeros((2, 3)).tolist()
        asked = [backend.infer("endless", BRIGHT, SOON), backend.infer("means", BRIGHT, SOON)]
        stuck, served = await asyncio.gather(*asked, return_exceptions=True)
        assert isinstance(stuck, OutOfService)
        with pytest.raises(OutOfService, match=OUT):
            raise stuck
        assert isinstance(served, list)
        assert not backend.hung.is_set()


async def test_who_asks_or_waits_afterwards_is_refused_at_once(tmp_path: Path) -> None:
    async with serving(looping_model(tmp_path, trips=TRIPS)) as backend:
        await backend.load("endless")
        first = asyncio.create_task(backend.infer("endless", BRIGHT, SOON))
        await asyncio.sleep(0.1)
        waiting = asyncio.create_task(backend.infer("endless", DARK, SOON))
        for each in (first, waiting, backend.infer("endless", DARK, SOON), backend.load("endless")):
            with pytest.raises(OutOfService, match=OUT):
                await each


async def test_a_thread_that_cannot_be_freed_hangs_the_device_and_whoever_asks_is_told(
    tmp_path: Path, gate: threading.Event
) -> None:
    mean_model(tmp_path, "one")

    def opener(sources: Sequence[ResolvedModel], threads: int) -> Group:
        return NetworkGroup(Deaf(gate)) if sources[0].name == "one" else open_group(sources, threads)

    async with serving(mean_model(tmp_path), opener=opener) as backend:
        await backend.load("means")
        stuck = asyncio.create_task(backend.infer("one", DARK, SOON))
        await asyncio.sleep(0.1)
        behind = asyncio.create_task(backend.infer("means", BRIGHT, SOON))
        with pytest.raises(OutOfService, match="model 'one' did not return"):
            await stuck
        assert not behind.done()
        assert not backend.hung.is_set()
        with pytest.raises(OutOfService, match="another model did not return and cannot be ended"):
            await behind
        assert backend.hung.is_set()
        with pytest.raises(SluiceError, match="the engine has stopped"):
            await backend.infer("means", BRIGHT, SOON)


async def test_a_stop_does_not_wait_for_a_thread_that_never_returns(tmp_path: Path, gate: threading.Event) -> None:
    mean_model(tmp_path)
    async with serving(Catalogue([tmp_path]), opener=lambda *_: NetworkGroup(Deaf(gate))) as backend:
        stuck = asyncio.create_task(backend.infer("means", DARK, SOON))
        await asyncio.sleep(2.0)
    with pytest.raises(OutOfService):
        await stuck


async def test_a_network_that_loops_for_ever_when_it_is_loaded_is_refused(tmp_path: Path) -> None:
    looping_model(tmp_path, above=-1, trips=TRIPS // 2)
    async with serving(mean_model(tmp_path)) as backend:
        for _ in range(2):
            with pytest.raises(
                OutOfService, match=r"'endless' did not return from being loaded and run once within 1\.5"
            ):
                await backend.load("endless")
        assert (await backend.infer("means", BRIGHT, SOON))[0].tolist() == np.ones((2, 3)).tolist()


async def test_a_file_that_takes_for_ever_to_open_is_refused(tmp_path: Path) -> None:
    slow_to_open_model(tmp_path, products=15)
    async with serving(mean_model(tmp_path)) as backend:
        with pytest.raises(OutOfService, match="'slow' did not return from being loaded"):
            await backend.load("slow")
        assert (await backend.infer("means", BRIGHT, SOON))[0].tolist() == np.ones((2, 3)).tolist()
