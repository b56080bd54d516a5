from __future__ import annotations

import logging
from dataclasses import replace
from types import SimpleNamespace

import pytest
from aiokafka import TopicPartition

from operators.wire.schema import FleetPlacement, to_json
from pipelines.kafka.topics import TopicsConfig
from pipelines.schedule.election import Election
from pipelines.schedule.epochs import EpochTerms
from pipelines.schedule.fleet_view import ViewBounds
from pipelines.schedule.service import ScheduleConfig, SchedulerService
from pipelines.settings import BrokerSettings
from serving.errors import BadInput
from tests.fake_clock import FakeClock
from tests.pipelines.schedule.fleets import AT, backend

CONFIG = ScheduleConfig(BrokerSettings(("127.0.0.1:1",)), TopicsConfig(), EpochTerms())


@pytest.fixture
def service() -> SchedulerService:
    service = SchedulerService(CONFIG)
    service._election.leads = True
    return service


async def test_a_plan_that_fails_costs_its_epoch_and_not_the_scheduler(
    service: SchedulerService, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(now_s: float) -> None:
        raise BadInput("demand for \x1b[2J: makes no sense")

    monkeypatch.setattr(service._epochs, "begin", fail)
    with caplog.at_level(logging.WARNING):
        await service._epoch()
    (line,) = caplog.messages
    assert line.startswith("placement ")
    assert line.endswith(r" is not published (demand for \x1b[2J: makes no sense): the next one is tried")


async def test_a_placement_that_nobody_could_read_is_not_sent(
    service: SchedulerService, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    odd = FleetPlacement(epoch=1, at=AT, leader="s", workers=10**6)
    monkeypatch.setattr(service._epochs, "end", lambda *_: odd)
    with caplog.at_level(logging.WARNING):
        await service._epoch()
    (line,) = caplog.messages
    assert "is not published" in line
    assert "workers" in line


async def test_the_same_numbers_are_said_once(
    service: SchedulerService, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def publish(made: FleetPlacement) -> None: ...

    monkeypatch.setattr(service, "_publish", publish)
    with caplog.at_level(logging.INFO):
        await service._epoch()
        await service._epoch()
    (line,) = caplog.messages
    assert line.endswith(": 0 of 0 backends serve, wanted: none")


async def test_one_of_several_leads_also_where_the_topic_has_more_partitions_than_it_should() -> None:
    one, other = (Election(CONFIG.settings, "placement", "schedule") for _ in range(2))
    one.on_partitions_assigned([TopicPartition("placement", 0), TopicPartition("placement", 2)])
    other.on_partitions_assigned([TopicPartition("placement", 1)])
    assert (one.leads, other.leads) == (True, False)
    one.on_partitions_revoked([TopicPartition("placement", 0), TopicPartition("placement", 2)])
    other.on_partitions_assigned([TopicPartition("placement", 0), TopicPartition("placement", 1)])
    assert (one.leads, one.terms, other.leads, other.terms) == (False, 1, True, 1)


async def test_processes_that_are_left_out_are_told_once(caplog: pytest.LogCaptureFixture) -> None:
    service = SchedulerService(replace(CONFIG, bounds=ViewBounds(processes=2)), FakeClock())
    service._loads.caught_up.set()
    for name in ("a", "b", "c", "d"):
        service._hear(SimpleNamespace(key=name.encode(), value=to_json(backend(name))))  # type: ignore[arg-type]
    assert caplog.messages == ["more than 2 processes: the load of further ones is left out: raise --most"]


async def test_a_clock_that_is_set_makes_no_process_gone() -> None:
    clock = FakeClock()
    service = SchedulerService(CONFIG, clock)
    service._loads.caught_up.set()
    service._hear(SimpleNamespace(key=b"gpu-1", value=to_json(backend("gpu-1"))))  # type: ignore[arg-type]
    clock.set_back(-3600.0)
    assert [each.load.id for each in service._view.there(service._now_s())] == ["gpu-1"]
    clock.set_back(7200.0)
    clock.advance(CONFIG.bounds.silent_s + 1)
    assert not service._view.there(service._now_s())
