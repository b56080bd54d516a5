"""Serves a process over HTTP while it runs: its metrics, its health, and the live page where it has one."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import AsyncIterator, Collection, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from queue import SimpleQueue

from operators.observer import Observer
from pipelines.observe.live.page import Page
from pipelines.observe.metrics.scrape import FindPlans, Scrape
from pipelines.observe.record.recorder import Recorder
from pipelines.observe.web.condition import Condition, health_routes, index_routes
from pipelines.observe.web.listen import Listen
from pipelines.observe.web.server import serving
from pipelines.settings import metrics_streams

log = logging.getLogger(__name__)


class Station:
    """Made only where something is to be served: it brings the libraries for it."""

    def __init__(self, listen: Listen, page: Page | None = None) -> None:
        self._listen = listen
        self._scrape = Scrape(metrics_streams())
        self.page = page
        self.condition = Condition()

    @property
    def observers(self) -> list[Observer]:
        """Who must hear what happens in the process."""
        return [self._scrape.recorder, self.condition, *([self.page.board] if self.page else [])]

    def knows(self, find_plans: FindPlans) -> None:
        """How streams stand with their shortcuts can be found out from now on."""
        self._scrape.find_plans = find_plans
        if self.page is not None:
            self.page.find_plans = find_plans

    def evidence(self, kept: Recorder) -> None:
        self._scrape.evidence(kept)

    def never_late(self, unhurried: Collection[str]) -> None:
        """The frames of these streams wait for the analysis, so that their age says nothing."""
        self._scrape.recorder.unhurried = unhurried
        if self.page is not None:
            self.page.board.unhurried = unhurried

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        """Answer while the block runs; raises BadInput where the address cannot be listened on."""
        shown = self.page.routes if self.page else index_routes()
        routes = [*self._scrape.routes, *health_routes(self.condition), *shown]
        async with AsyncExitStack() as stack:
            at = await stack.enter_async_context(serving(self._listen, routes))
            if self.page is not None:
                await stack.enter_async_context(self.page.running())
            log.info("serving %s at http://%s/", "the page" if self.page else "metrics and health", at)
            yield

    @contextmanager
    def open_in_thread(self) -> Iterator[asyncio.AbstractEventLoop]:
        """The same for a process without an event loop; yields the one of the thread that it runs in."""
        begun: SimpleQueue[BaseException | None] = SimpleQueue()
        loop, stop = asyncio.new_event_loop(), asyncio.Event()

        async def serve() -> None:
            async with self.open():
                begun.put(None)
                await stop.wait()

        def work() -> None:
            try:
                loop.run_until_complete(serve())
            except BaseException as error:
                begun.put(error)
            finally:
                loop.close()

        thread = threading.Thread(target=work, name="serve", daemon=True)
        thread.start()
        if (error := begun.get()) is not None:
            thread.join()
            raise error
        try:
            yield loop
        finally:
            loop.call_soon_threadsafe(stop.set)
            thread.join()
