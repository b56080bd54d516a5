"""The counts of a backend's requests, for Prometheus."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client.core import Metric
from prometheus_client.registry import Collector

from pipelines.observe.metrics import families
from pipelines.observe.metrics.tallies import Tallies
from serving.remote.server.admission import Admission
from serving.remote.server.refusals import Status

ANSWERED = "answered"


class BackendMetrics(Collector):
    """Changed on the event loop; there are as many labels as networks are served."""

    def __init__(self) -> None:
        self._tallies = Tallies(families.BACKEND)
        self.admission: Admission | None = None
        """Where what is in flight is looked up."""

    def ended(self, network: str, status: Status | None, items: int, took_s: float) -> None:
        """A request has ended: with a status, or None where it was answered."""
        model, _, variant = network.partition("@")
        outcome = ANSWERED if status is None else status.lower()
        self._tallies.at(families.BACKEND_REQUESTS, model, variant, outcome).value += 1
        if status is None:
            self._tallies.at(families.BACKEND_S, model, variant).add(took_s)

    def collect(self) -> Iterator[Metric]:
        if self.admission is not None:
            self._tallies.at(families.BACKEND_IN_FLIGHT).value = self.admission.requests
            self._tallies.at(families.BACKEND_PICTURES).value = self.admission.items
        return self._tallies.collect()
