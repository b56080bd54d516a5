"""A backend over HTTP: the protocol, its metrics, its health."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from ssl import SSLContext

from operators.observer import Observer
from pipelines.commands.backend.backend_metrics import BackendMetrics
from pipelines.observe.metrics.scrape import Scrape
from pipelines.observe.web.condition import Condition, health_routes, index_routes
from pipelines.observe.web.listen import Listen
from pipelines.observe.web.server import serving
from serving.remote.protocol.limits import WireLimits
from serving.remote.protocol.service import ENVELOPE_BYTES
from serving.remote.server.http.http_routes import http_routes
from serving.remote.server.inference_service import InferenceService
from serving.remote.server.refusals import Status


class BackendPage:
    """Made only where something is served over HTTP: it brings the libraries for that."""

    def __init__(self) -> None:
        self._scrape, self._metrics = Scrape(1), BackendMetrics()
        self._scrape.beside(self._metrics)
        self.condition = Condition()

    @property
    def observer(self) -> Observer:
        """Who must hear what networks do."""
        return self._scrape.recorder

    def ended(self, network: str, status: Status | None, items: int, took_s: float) -> None:
        """A request has ended."""
        self._metrics.ended(network, status, items, took_s)

    @asynccontextmanager
    async def open(
        self, at: Listen, service: InferenceService, limits: WireLimits, tls: SSLContext | None
    ) -> AsyncIterator[Listen]:
        """Answer while the block runs; yields where. BadInput where it cannot listen there."""
        self._metrics.admission = service.admission
        routes = [*self._scrape.routes, *health_routes(self.condition), *index_routes(), *http_routes(service, limits)]
        async with serving(at, routes, limits.message_bytes + ENVELOPE_BYTES, tls) as where:
            yield where
