"""Serves a process over HTTP while it runs: its metrics, whether it is well, and the live page where it has one."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from ssl import SSLContext

from aiohttp import web
from prometheus_client.registry import Collector

from operators.observer import Observer
from pipelines.observe.live.page import Page
from pipelines.observe.metrics.scrape import EvidenceCollector, FindPlans, Scrape
from pipelines.observe.record.recorder import Keeper
from pipelines.observe.web.listen import Listen
from pipelines.observe.web.server import serving
from pipelines.settings import metrics_streams

log = logging.getLogger(__name__)

STARTING = "the process is starting"
INDEX = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="color-scheme" content="light dark"><title>Sluice</title></head>
<body><h1>Sluice</h1>
<p>This process serves its <a href="metrics">metrics</a>, for Prometheus, and says whether it
<a href="healthz">is well</a> and <a href="readyz">is at work</a>.</p>
<p>The live page is served by <code>sluice serve</code>, for all streams, and by <code>sluice run --serve</code>, for
its own.</p>
</body></html>
"""


class Condition(Observer):
    """Kept by a worker's own hooks, or set from outside; read from any thread."""

    def __init__(self) -> None:
        self.problem: str | None = None
        """Why the process makes no progress; None while it is well."""
        self.waits_for: str | None = STARTING
        """Why it is not at work yet; None while it is."""

    @property
    def unready(self) -> str | None:
        """Why it should be sent no work; None if it should."""
        return self.waits_for or self.problem

    def worker_waits(self, reason: str) -> None:
        self.waits_for = reason

    def worker_checked(self, waiting: Mapping[int, int], oldest_s: float, problem: str | None) -> None:
        self.waits_for, self.problem = None, problem

    def broker_polled(self, away: str | None) -> None:
        """Note why the broker does not answer; None where it does."""
        self.waits_for, self.problem = away, None


def health_routes(condition: Condition) -> list[web.RouteDef]:
    """``/healthz`` and ``/readyz``: 200, or 503 with the reason in one line."""

    async def healthz(request: web.Request) -> web.Response:
        return _verdict(condition.problem)

    async def readyz(request: web.Request) -> web.Response:
        return _verdict(condition.unready)

    return [web.get("/healthz", healthz), web.get("/readyz", readyz)]


def index_routes() -> list[web.RouteDef]:
    """``/`` of a process that has no page: what there is in its place."""

    async def index(request: web.Request) -> web.Response:
        return web.Response(text=INDEX, content_type="text/html")

    return [web.get("/", index)]


def _verdict(problem: str | None) -> web.Response:
    return web.Response(status=200 if problem is None else 503, text=f"{problem or 'ok'}\n")


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

    def evidence(self, kept: Keeper) -> None:
        self._scrape.beside(EvidenceCollector(kept))

    def beside(self, collector: Collector) -> None:
        self._scrape.beside(collector)

    def keep_streams(self) -> None:
        """A run's streams have ended when they are dropped: what was counted of them is shown as long as it serves."""
        self._scrape.recorder.keeps_streams = True

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
