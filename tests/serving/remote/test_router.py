"""The engine of a query with remote models, by servers that a test breaks; the networks here are real."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random

import numpy as np
import pytest

from operators.inference import asked
from serving.backend import Backend
from serving.catalogue.lookup import Catalogue
from serving.common.engine_observer import EngineObserver
from serving.errors import BackendDown, BadInput, ModelError
from serving.remote import router
from serving.remote.client import server_channel
from serving.remote.client.address import BackendAddress, TlsFiles
from serving.remote.client.backend_client import BackendClient, ClientTools
from serving.remote.router import Router
from serving.scheduling.requests import BACKGROUND, Urgency
from tests.models import mean_model
from tests.serving.remote.client.test_backend_client import MEANS, PICTURES, ours
from tests.serving.remote.v2_server import V2Server, addressed, serving
from tests.turns import turns, until

SOON = Urgency(math.inf)
LOCAL = np.moveaxis(PICTURES.astype(np.float32), -1, 1).copy()


class Heard(EngineObserver):
    def __init__(self) -> None:
        self.ran: list[str] = []

    def network_ran(self, model: str, items: int, took_s: float) -> None:
        self.ran.append(model)


@pytest.fixture
def catalogue(tmp_path: Path) -> Catalogue:
    return mean_model(tmp_path / "models")


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_channel, "PROBE_EVERY_S", 0.1)
    monkeypatch.setattr(router, "AGAIN_S", 0.1)


@asynccontextmanager
async def routed(
    catalogue: Catalogue, server: V2Server, *names: str, heard: EngineObserver | None = None
) -> AsyncIterator[Router]:
    client = BackendClient(addressed(server), catalogue, ClientTools(rng=Random(1)))
    found = Router(Backend(catalogue), {"gpu": client}, names, observer=heard or Heard(), rng=Random(1))
    await found.start()
    try:
        yield found
    finally:
        await found.stop()


async def test_where_one_backend_cannot_be_connected_to_nothing_is_left_running(
    catalogue: Catalogue, tmp_path: Path
) -> None:
    server, local = ours(catalogue), Backend(catalogue)
    async with serving(server):
        before = asyncio.all_tasks()
        without = BackendAddress("cloud", ("grpc://127.0.0.1:1",), TlsFiles(tmp_path / "no-such.pem"))
        clients = {
            name: BackendClient(each, catalogue, ClientTools(rng=Random(1)))
            for name, each in {"gpu": addressed(server), "cloud": without}.items()
        }
        engine = Router(local, clients, ["means on gpu"], rng=Random(1))
        with pytest.raises(BadInput, match="no-such"):
            await engine.start()
        await turns()
        left = {each.get_coro().__qualname__ for each in asyncio.all_tasks() - before}  # type: ignore[union-attr]
        assert not {each for each in left if each.startswith(("ServerChannel.", "Servers.", "Router."))}
        assert local._users == 0


async def test_each_model_is_run_where_its_name_says(catalogue: Catalogue) -> None:
    server, heard = ours(catalogue), Heard()
    async with serving(server), routed(catalogue, server, "means", "means on gpu", heard=heard) as engine:
        assert engine.card("means on gpu").input.dtype == "uint8"
        assert engine.card("means").input.dtype == "float32"
        for name in ("means", "means on gpu"):
            await engine.load(name)
        before = len(server.asked)
        (here,) = await engine.infer("means", LOCAL, SOON)
        assert len(server.asked) == before
        (there,) = await engine.infer("means on gpu", PICTURES, SOON)
        np.testing.assert_allclose(here, MEANS, rtol=1e-6)
        np.testing.assert_array_equal(there, MEANS)
        assert heard.ran == ["means on gpu"]
        assert engine.place_of("means on gpu") == "means on gpu"
        assert engine.processor_s("means on gpu") == router.CALL_S
        with pytest.raises(ModelError, match="run by a backend, and exits sit on networks of this process"):
            engine.add_cuts("means on gpu", ["a"])
        with pytest.raises(ModelError, match="there is no backend 'cpu'"):
            engine.card("means on cpu")


async def test_times_of_remote_models_are_those_of_the_wire(catalogue: Catalogue) -> None:
    server = ours(catalogue)
    async with serving(server), routed(catalogue, server, "means on gpu") as engine:
        assert engine.measured("means on gpu") is None
        engine.keep("means on gpu", {1: 0.001, 2: 0.001})
        server.delay_s = 0.03
        for _ in range(20):
            await engine.infer("means on gpu", PICTURES, SOON)
        found = engine.measured("means on gpu")
        assert found is not None
        assert found.tail_s[2] > 0.02


async def test_what_is_wrong_with_a_model_is_said_when_it_is_named(catalogue: Catalogue, tmp_path: Path) -> None:
    other = mean_model(tmp_path / "others", version="2", sha256="1" * 64)
    server = ours(other)
    async with serving(server), routed(catalogue, server, "means on gpu", "none on gpu", "means") as engine:
        with pytest.raises(ModelError, match="serves another network than means 1"):
            engine.card("means on gpu")
        with pytest.raises(ModelError, match="there is no model none"):
            await engine.load("none on gpu")
        assert engine.card("means").version == "1"


async def ask(engine: Router, name: str = "means on auto") -> str:
    """Ask wherever the engine says; returns where."""

    async def at(place: str) -> str:
        remote = engine.card(place).input.dtype == "uint8"
        await engine.infer(place, PICTURES if remote else LOCAL, SOON)
        return place

    return await asked(engine, name, at)


async def test_auto_is_run_here_or_there_and_goes_on_where_the_backend_dies(catalogue: Catalogue) -> None:
    server = ours(catalogue)
    async with serving(server), routed(catalogue, server, "means on auto") as engine:
        places = {await ask(engine) for _ in range(12)}
        assert places == {"means", "means on gpu"}
        await server.stop()
        assert {await ask(engine) for _ in range(20)} <= {"means", "means on gpu"}
        await until(lambda: not engine._clients["gpu"].may_answer)
        assert {await ask(engine) for _ in range(20)} == {"means"}


async def test_auto_takes_no_other_network(catalogue: Catalogue, tmp_path: Path) -> None:
    other = mean_model(tmp_path / "others", version="2", sha256="1" * 64)
    server = ours(other)
    async with serving(server), routed(catalogue, server, "means on auto") as engine:
        assert {await ask(engine) for _ in range(20)} == {"means"}


async def test_work_in_the_background_does_not_say_where_it_is_faster(catalogue: Catalogue) -> None:
    server = ours(catalogue)
    async with serving(server), routed(catalogue, server, "means on auto") as engine:
        for _ in range(10):
            await engine.infer("means on gpu", PICTURES, BACKGROUND)
        assert engine._choices["means on auto"]._places["means on gpu"].requests == 0


async def test_a_backend_that_comes_later_is_taken(catalogue: Catalogue) -> None:
    server = ours(catalogue)
    await server.start()
    await server.stop()
    async with routed(catalogue, server, "means on gpu", "means on auto") as engine:
        with pytest.raises(BackendDown):
            await engine.infer("means on gpu", PICTURES, SOON)
        assert await ask(engine) == "means"
        async with serving(server):
            await until(lambda: engine._clients["gpu"].identity("means") is not None)
            await engine.infer("means on gpu", PICTURES, SOON)
            await asyncio.sleep(1.1)  # it was left alone
            assert "means on gpu" in {await ask(engine) for _ in range(10)}
