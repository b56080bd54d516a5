"""Serves a process over HTTP while it runs: its metrics, its health, and the live page where it has one."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from ssl import SSLContext

from aiohttp import web
from prometheus_client.registry import Collector

from operators.observer import Observer
from pipelines.observe.live.page import Page
from pipelines.observe.metrics.scrape import EvidenceCollector, FindPlans, Scrape
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
        self._scrape.beside(EvidenceCollector(kept))

    def beside(self, collector: Collector) -> None:
        """Show what another collector has, too."""
        self._scrape.beside(collector)

    def never_late(self, unhurried: Collection[str]) -> None:
        """The frames of these streams wait for the analysis, so that their age says nothing."""
        self._scrape.recorder.unhurried = unhurried
        if self.page is not None:
            self.page.board.unhurried = unhurried

    @asynccontextmanager
    async def open(
        self, more: Sequence[web.RouteDef] = (), body_bytes: int = 1024, tls: SSLContext | None = None
    ) -> AsyncIterator[Listen]:
        """Answer while the block runs, also ``more``; yields where. BadInput where it cannot listen there.

        ``body_bytes``: the most that a request may carry; ``tls``: None: in the clear.
        """
        shown = self.page.routes if self.page else index_routes()
        routes = [*self._scrape.routes, *health_routes(self.condition), *shown, *more]
        async with AsyncExitStack() as stack:
            at = await stack.enter_async_context(serving(self._listen, routes, body_bytes, tls))
            if self.page is not None:
                await stack.enter_async_context(self.page.running())
            what, scheme = "the page" if self.page else "metrics and health", "http" if tls is None else "https"
            log.info("serving %s at %s://%s/", what, scheme, at)
            yield at
