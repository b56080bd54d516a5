"""``/metrics``: the text that Prometheus reads."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from datetime import UTC, datetime

from aiohttp import web
from prometheus_client import CollectorRegistry, ProcessCollector, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST

from operators.wire.schema import StreamPlan
from pipelines.observe.metrics.evidence import Evidence, Kept
from pipelines.observe.metrics.recorder import Recorder
from pipelines.observe.metrics.standing import Standing

FindPlans = Callable[[datetime], Sequence[StreamPlan]]


class Scrape:
    """All metrics of this process."""

    def __init__(self, most_streams: int) -> None:
        self._registry = CollectorRegistry()
        self._standing = Standing(most_streams)
        self._registry.register(self._standing)
        ProcessCollector(registry=self._registry)
        self.recorder = Recorder(self._registry, most_streams)
        self.find_plans: FindPlans = lambda now: ()
        """How streams stand with their shortcuts; called on the event loop for each scrape."""

    def evidence(self, kept: Kept) -> None:
        """Show what is kept as evidence, too."""
        self._registry.register(Evidence(kept))

    @property
    def routes(self) -> list[web.RouteDef]:
        """``/metrics``."""
        return [web.get("/metrics", self._answer)]

    async def _answer(self, request: web.Request) -> web.Response:
        self._standing.plans = self.find_plans(datetime.now(UTC))
        # There may be thousands of lines: frames should not wait until they are written.
        text = await asyncio.to_thread(generate_latest, self._registry)
        return web.Response(body=text, headers={"Content-Type": CONTENT_TYPE_LATEST})
