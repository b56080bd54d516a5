"""What a process shows over HTTP while it runs: its metrics and its health."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager

from operators.observer import Observer
from pipelines.observe.web.condition import Condition
from pipelines.observe.web.in_thread import in_thread
from pipelines.observe.web.listen import Listen
from pipelines.observe.web.scrape import FindPlans, Scrape
from pipelines.observe.web.server import health_routes, serving
from pipelines.settings import metrics_streams

log = logging.getLogger(__name__)


class Station:
    """Made only where something is to be served: it brings the libraries for it."""

    def __init__(self, listen: Listen) -> None:
        self._listen = listen
        self._scrape = Scrape(metrics_streams())
        self.condition = Condition()

    @property
    def observers(self) -> list[Observer]:
        """Who must hear what happens in the process."""
        return [self._scrape.observer, self.condition]

    def knows(self, find_plans: FindPlans) -> None:
        """How streams stand with their shortcuts can be found out from now on."""
        self._scrape.find_plans = find_plans

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        """Answer while the block runs; raises BadInput where the address cannot be listened on."""
        routes = [*self._scrape.routes, *health_routes(self.condition)]
        async with serving(self._listen, routes) as at:
            log.info("serving http://%s/metrics, /healthz and /readyz", at)
            yield

    @contextmanager
    def open_in_thread(self) -> Iterator[None]:
        """The same for a process without an event loop."""

        async def serve(begun: Callable[[], None], stop: asyncio.Event) -> None:
            async with self.open():
                begun()
                await stop.wait()

        with in_thread(serve):
            yield
