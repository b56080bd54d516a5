from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from types import SimpleNamespace

import pytest
from aiokafka import ConsumerRecord

from operators.wire.bounds import LARGEST_SEQ
from operators.wire.schema import BackendPlacement, FleetPlacement, PlacedSession, to_json
from pipelines.process.tasks import meanwhile
from pipelines.query.needs import Needs
from pipelines.query.nodes import RecogniseNode
from pipelines.schedule import backend_side
from pipelines.schedule.backend_side import Member
from pipelines.schedule.fleet_link import AHEAD_S, Placements, next_epoch
from pipelines.schedule.worker_side import WorkerSide, alternatives, rates_of
from serving.errors import Malformed, ModelError
from serving.scheduling.device import DeviceStats
from tests.fake_clock import FakeClock
from tests.turns import turns, until

AT = datetime(2026, 5, 4, tzinfo=UTC)


class Networks:
    """Loads what it is told to, once it may."""

    def __init__(self, *loaded: str) -> None:
        self.loaded = set(loaded)
        self.may = asyncio.Event()
        self.tried = 0

    async def load(self, model: str) -> float:
        self.tried += 1
        await self.may.wait()
        if model == "broken":
            raise ModelError("it is broken")
        if model == "odd":
            raise RuntimeError("can't start new thread")
        self.loaded.add(model)
        return 0.0

    async def unload(self, model: str) -> None:
        self.loaded.remove(model)

    def is_loaded(self, model: str) -> bool:
        return model in self.loaded

    def run_with(self, model: str) -> frozenset[str]:
        """Models whose names have the same first letter are run as one."""
        return frozenset(each for each in self.loaded if each[0] == model[0]) if model in self.loaded else frozenset()


def placement(epoch: int, models: dict[str, list[str]], unload: list[str] | None = None) -> FleetPlacement:
    backends = [
        BackendPlacement(
            id=name,
            sessions=[PlacedSession(model=model, slo_ms=100, rate=10) for model in names],
            unload=unload or [],
        )
        for name, names in models.items()
    ]
    return FleetPlacement(epoch=epoch, at=AT, leader="s", backends=backends)


@asynccontextmanager
async def obeying(networks: Networks) -> AsyncIterator[tuple[Member, list[int]]]:
    epochs: list[int] = []
    found = Member("a", networks, epochs.append)
    async with meanwhile(found.run()):
        yield found, epochs


async def test_it_obeys_once_all_is_loaded_and_unloads_when_others_have_heard(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backend_side, "DRAIN_S", 0.01)
    networks = Networks("old", "kept")
    async with obeying(networks) as (found, epochs):
        found.heed(placement(3, {"a": ["new", "kept"], "b": ["old"]}, unload=["old", "kept"]))
        await turns()
        assert (epochs, networks.loaded) == ([], {"old", "kept"})
        networks.may.set()
        await until(lambda: epochs == [3])
        assert networks.loaded == {"old", "new", "kept"}
        await until(lambda: networks.loaded == {"new", "kept"})


async def test_what_is_run_as_one_with_a_network_that_is_served_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    """It would be loaded again with the next request for the other, at every epoch anew."""
    monkeypatch.setattr(backend_side, "DRAIN_S", 0.01)
    networks = Networks("cars", "colours", "old")
    networks.may.set()
    async with obeying(networks) as (found, _):
        found.heed(placement(3, {"a": ["cars"]}, unload=["colours", "old"]))
        await until(lambda: "old" not in networks.loaded)
        assert networks.loaded == {"cars", "colours"}
        found.heed(placement(4, {"a": ["new"]}, unload=["cars", "colours"]))
        await until(lambda: networks.loaded == {"new"})


async def test_what_is_to_go_stays_where_the_next_placement_comes_first() -> None:
    networks = Networks("old")
    networks.may.set()
    async with obeying(networks) as (found, epochs):
        found.heed(placement(3, {"a": []}, unload=["old"]))
        await until(lambda: epochs == [3])
        found.heed(placement(4, {"a": ["old"]}))
        await until(lambda: epochs == [3, 4])
        assert networks.loaded == {"old"}


async def test_what_cannot_be_loaded_keeps_nothing_else_from_it(caplog: pytest.LogCaptureFixture) -> None:
    networks = Networks()
    networks.may.set()
    async with obeying(networks) as (found, epochs):
        for epoch in (1, 2):
            found.heed(placement(epoch, {"a": ["broken", "odd", "new"]}))
            await until(lambda epoch=epoch: epochs[-1:] == [epoch])  # type: ignore[misc]
        assert networks.loaded == {"new"}
        assert caplog.text.count("it is broken") == 1
        found.heed(placement(3, {"a": ["new"]}))
        await until(lambda: epochs[-1:] == [3])
        assert not found._faults, "what is not asked for any more is forgotten"


async def test_a_placement_of_others_changes_nothing() -> None:
    networks = Networks("old")
    async with obeying(networks) as (found, epochs):
        found.heed(placement(1, {"b": ["new"]}))
        await until(lambda: epochs == [1])
        assert (networks.loaded, networks.tried) == ({"old"}, 0)


def record(value: bytes) -> ConsumerRecord:
    return ConsumerRecord("placement", 0, 0, 0, 0, b"placement", value, None, 0, len(value), ())


def test_a_scheduler_that_leads_no_more_is_passed_over() -> None:
    heard: list[int] = []
    placements = Placements(lambda found: heard.append(found.epoch))
    for epoch in (5, 4, 5, 7, 6):
        placements.take(record(to_json(placement(epoch, {}))))
    assert heard == [5, 7]
    for wrong in (b"", b"{}", b"[", to_json(placement(9, {})).replace(b'"epoch":9', b'"epoch":0')):
        with pytest.raises(Malformed):
            placements.take(record(wrong))
    assert placements.epoch == 7


def test_no_number_can_keep_later_placements_from_being_heard() -> None:
    clock, heard = FakeClock(), list[int]()
    now = int(clock.now().timestamp())
    placements = Placements(lambda found: heard.append(found.epoch), clock)
    furthest = now + int(AHEAD_S)
    for hostile in (LARGEST_SEQ, furthest + 1):
        with pytest.raises(Malformed, match="ahead of this machine's clock"):
            placements.take(record(to_json(placement(hostile, {}))))
    placements.take(record(to_json(placement(furthest, {}))))  # the worst that is heard
    for _ in range(3):
        clock.advance(3.0)
        later = next_epoch([placements.epoch], clock.now().timestamp())
        placements.take(record(to_json(placement(later, {}))))
    assert heard == [furthest, furthest + 1, furthest + 2, furthest + 3]


def test_a_clock_that_was_wrong_for_a_while_keeps_no_later_placement_from_being_heard() -> None:
    clock, heard = FakeClock(), list[int]()
    placements = Placements(lambda found: heard.append(found.epoch), clock)
    clock.set_back(-86_400.0)
    for _ in range(2):
        made = next_epoch([placements.epoch], clock.now().timestamp())
        placements.take(record(to_json(placement(made, {}))))
    clock.set_back(86_400.0)
    made = next_epoch([placements.epoch], clock.now().timestamp())
    assert made == int(clock.now().timestamp())
    placements.take(record(to_json(placement(made, {}))))
    assert heard[-1] == placements.epoch == made


def test_workers_divide_their_calls_by_rates() -> None:
    found = placement(2, {"a": ["cars", "people"], "b": ["cars"]})
    assert rates_of(found) == {"cars": {"a": 10.0, "b": 10.0}, "people": {"a": 10.0}}
    side = WorkerSide("worker-0/1", {})
    side.heed(found)
    assert (side.tools.placed.epoch, side.tools.placed.of("cars")) == (2, {"a": 10.0, "b": 10.0})
    assert side.tools.placed.of("others") == {}


def test_a_worker_tells_how_busy_its_networks_are() -> None:
    side, stats = WorkerSide("worker-0/1", {}), DeviceStats(busy_s=6.0)
    side.runs(SimpleNamespace(stats=lambda: stats))  # type: ignore[arg-type]
    assert side._report.stats() is stats


def node(model: str | list[str], *listed: str) -> RecogniseNode:
    """``listed``: the models that its needs have come to."""
    found = RecogniseNode.model_validate({"name": "n", "task": "recognise", "input": "d", "model": model})
    return found.listing(Needs(task="cars", backend="pool"), listed) if listed else found


def test_models_answer_in_each_others_place_where_no_query_names_one() -> None:
    free = node("auto", "cars on pool", "small on pool")
    assert alternatives([free]) == {"cars": ["small"], "small": ["cars"]}
    assert alternatives([node(["cars on pool", "small on pool"])]) == {"cars": [], "small": []}
    assert alternatives([free, node("cars on pool")]) == {"cars": [], "small": ["cars"]}
    third = node("auto", "cars on pool", "small on pool", "tiny on pool")
    assert alternatives([free, third]) == {"cars": ["small"], "small": ["cars"], "tiny": ["cars", "small"]}
    assert alternatives([node("auto", "cars", "small")]) == {}
