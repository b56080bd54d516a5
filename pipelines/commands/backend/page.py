"""A backend over HTTP: the protocol, its metrics, its health."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager
from ssl import SSLContext

from prometheus_client.core import Metric
from prometheus_client.registry import Collector

from pipelines.observe.metrics import families
from pipelines.observe.metrics.tallies import Tallies
from pipelines.observe.station import Station
from pipelines.observe.web.listen import Listen
from serving.remote.protocol.parameters import WireLimits
from serving.remote.protocol.service import ENVELOPE_BYTES
from serving.remote.server.admission import Admission
from serving.remote.server.http_routes import http_routes
from serving.remote.server.inference_service import InferenceService
from serving.remote.server.refusals import Status

ANSWERED = "answered"


class BackendPage(Station, Collector):
    """The station of a backend, made only where something is served over HTTP: it brings the libraries for that.

    Figures are changed on the event loop; there are as many labels as networks are served.
    """

    def __init__(self, listen: Listen) -> None:
        super().__init__(listen)
        self._tallies = Tallies(families.BACKEND)
        self._admission: Admission | None = None
        """Where what is in flight is looked up."""
        self.beside(self)

    def ended(self, network: str, status: Status | None, items: int, took_s: float) -> None:
        """A request has ended: with a status, or None where it was answered."""
        model, _, variant = network.partition("@")
        outcome = ANSWERED if status is None else status.lower()
        self._tallies.at(families.BACKEND_REQUESTS, model, variant, outcome).value += 1
        if status is None:
            self._tallies.at(families.BACKEND_S, model, variant).add(took_s)

    def collect(self) -> Iterator[Metric]:
        if self._admission is not None:
            self._tallies.at(families.BACKEND_IN_FLIGHT).value = self._admission.requests
            self._tallies.at(families.BACKEND_PICTURES).value = self._admission.items
        return self._tallies.collect()

    def serving(
        self, service: InferenceService, limits: WireLimits, tls: SSLContext | None
    ) -> AbstractAsyncContextManager[Listen]:
        """Answer while the block runs; yields where. BadInput where it cannot listen there."""
        self._admission = service.admission
        return self.open(http_routes(service, limits), limits.message_bytes + ENVELOPE_BYTES, tls)
