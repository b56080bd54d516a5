from __future__ import annotations

import logging

import pytest

from operators.wire.schema import FleetPlacement
from pipelines.kafka.topics import TopicsConfig
from pipelines.schedule.epochs import EpochTerms
from pipelines.schedule.service import ScheduleConfig, SchedulerService
from pipelines.settings import BrokerSettings
from serving.errors import BadInput
from tests.pipelines.schedule.fleets import AT


@pytest.fixture
def service() -> SchedulerService:
    service = SchedulerService(ScheduleConfig(BrokerSettings(("127.0.0.1:1",)), TopicsConfig(), EpochTerms()))
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
