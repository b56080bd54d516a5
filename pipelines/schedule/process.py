"""One scheduler process: it schedules, and serves the numbers that are wanted, until a signal comes."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from pipelines.observe.metrics.scrape import Scrape
from pipelines.observe.web.condition import Condition, health_routes, index_routes
from pipelines.observe.web.listen import Listen
from pipelines.observe.web.server import serving
from pipelines.process.signals import stop_loop_on_signals
from pipelines.schedule.numbers import FleetNumbers
from pipelines.schedule.service import ScheduleConfig, SchedulerService

log = logging.getLogger(__name__)


async def schedule(config: ScheduleConfig, listen: Listen) -> None:
    """Schedule until a signal comes; raises Unavailable or BadInput."""
    service = SchedulerService(config)
    with stop_loop_on_signals() as stop:
        async with serving_numbers(service, listen):
            working, stopping = asyncio.create_task(service.run()), asyncio.create_task(stop.wait())
            try:
                await asyncio.wait([working, stopping], return_when=asyncio.FIRST_COMPLETED)
                if working.done():
                    working.result()
            finally:
                for task in (working, stopping):
                    task.cancel()
                await asyncio.wait([working, stopping])


@asynccontextmanager
async def serving_numbers(service: SchedulerService, listen: Listen) -> AsyncIterator[None]:
    """Answer over HTTP while the block runs; BadInput where it cannot listen there."""
    scrape, condition = Scrape(1), Condition()
    numbers = FleetNumbers(lambda: service.placement, lambda: service.leads)
    scrape.beside(numbers)
    service.condition = condition
    routes = [*scrape.routes, *health_routes(condition), *index_routes(), *numbers.routes]
    async with serving(listen, routes) as at:
        log.info("serving what is wanted at http://%s/", at)
        yield
