"""One scheduler process: it schedules, and serves the numbers that are wanted, until a signal comes."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from operators.observer import Observers
from pipelines.observe.station import Station
from pipelines.observe.watchers import HeartbeatFile
from pipelines.observe.web.listen import Listen
from pipelines.process.signals import stop_loop_on_signals
from pipelines.process.tasks import unless
from pipelines.schedule.numbers import FleetNumbers
from pipelines.schedule.service import ScheduleConfig, SchedulerService


async def schedule(config: ScheduleConfig, listen: Listen, alive: Path | None) -> None:
    """Schedule until a signal comes; raises Unavailable or BadInput."""
    service = SchedulerService(config)
    with stop_loop_on_signals() as stop:
        async with serving_numbers(service, listen, alive):
            await unless(stop, service.run())


@asynccontextmanager
async def serving_numbers(service: SchedulerService, listen: Listen, alive: Path | None) -> AsyncIterator[None]:
    """Answer over HTTP while the block runs; BadInput where it cannot listen there."""
    station, numbers = Station(listen), FleetNumbers(lambda: service.placement, lambda: service.leads)
    station.beside(numbers)
    service.condition = Observers([HeartbeatFile(alive), *station.observers])
    async with station.open(numbers.routes):
        yield
