"""The calls of the protocol as a backend answers them, whatever they travel on: a message in, a message out.

A call that is not answered raises one of our errors; ``refusals`` has its status.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from serving.backend import Backend
from serving.catalogue.lookup import Catalogue
from serving.common.clock import SYSTEM, Clock
from serving.errors import OutOfService, SluiceError
from serving.remote.protocol import inference_pb2 as pb
from serving.remote.protocol.membership import extension
from serving.remote.protocol.parameters import checked_name
from serving.remote.server.admission import Admission, ServerLimits
from serving.remote.server.box_outputs import BoxReader
from serving.remote.server.inferences import Inferences
from serving.remote.server.refusals import Status, refusal
from serving.remote.server.registered_regions import RegionsOfOne
from serving.remote.server.served_networks import ServedNetworks
from serving.remote.session_meter import SessionMeter


@dataclass(slots=True)
class NetworkCounts:
    """Those of one network since the backend was started."""

    answered: int = 0
    items: int = 0
    """Pictures of answered requests."""
    answered_s: float = 0.0
    """Seconds from the arrival of requests to their answers, all together."""
    failed: int = 0
    failed_s: float = 0.0
    last_ms: int = 0
    """When a request was answered last, in milliseconds since 1970."""

    def told(self, name: str, version: str) -> pb.ModelStatistics:
        """As a message of the protocol."""
        success = pb.StatisticDuration(count=self.answered, ns=int(self.answered_s * 1e9))
        fail = pb.StatisticDuration(count=self.failed, ns=int(self.failed_s * 1e9))
        return pb.ModelStatistics(
            name=name,
            version=version,
            last_inference=self.last_ms,
            inference_count=self.items,
            execution_count=self.answered,
            inference_stats=pb.InferStatistics(success=success, fail=fail),
        )


EXTENSIONS = ("model_configuration", "model_repository", "statistics", "system_shared_memory", "binary_tensor_data")
Ended = Callable[[str, Status | None, int, float], None]
"""Hears of every request that has ended: network, status (None: answered), pictures, seconds."""


@dataclass(frozen=True, slots=True)
class ServedEngine:
    """The networks that are served, and what runs them."""

    backend: Backend
    catalogue: Catalogue
    artefacts_dir: Path
    """Where variants lie."""
    read_boxes: BoxReader


@dataclass(frozen=True, slots=True)
class Membership:
    """A backend's part in a fleet that somebody schedules."""

    process: str
    """Its name in placements."""
    meter: SessionMeter
    """Counts what it is asked for."""


def unheard(network: str, status: Status | None, items: int, took_s: float) -> None:
    """Nobody hears of requests."""


class InferenceService:
    """Used from one event loop."""

    def __init__(
        self,
        engine: ServedEngine,
        limits: ServerLimits,
        clock: Clock = SYSTEM,
        ended: Ended = unheard,
        fleet: Membership | None = None,
    ) -> None:
        self.admission = Admission(limits)
        self._networks = ServedNetworks(engine.backend, engine.catalogue, engine.artefacts_dir, limits.networks)
        self._fleet = fleet
        meter = SessionMeter() if fleet is None else fleet.meter
        self._inferences = Inferences(self._networks, engine.read_boxes, self.admission, limits, clock, meter)
        self._clock, self._ended = clock, ended
        self._counts: dict[str, NetworkCounts] = {}

    async def server_live(self, question: pb.ServerLiveRequest) -> pb.ServerLiveResponse:
        return pb.ServerLiveResponse(live=True)

    async def server_ready(self, question: pb.ServerReadyRequest) -> pb.ServerReadyResponse:
        """Whether requests should be sent: not while it starts, and not once it drains."""
        return pb.ServerReadyResponse(ready=self.admission.unready is None)

    async def server_metadata(self, question: pb.ServerMetadataRequest) -> pb.ServerMetadataResponse:
        member = () if self._fleet is None else (extension(self._fleet.process),)
        extensions = (*EXTENSIONS, *member)
        return pb.ServerMetadataResponse(name="sluice", version=version("sluice-video"), extensions=extensions)

    async def model_ready(self, question: pb.ModelReadyRequest) -> pb.ModelReadyResponse:
        """Whether a network may be asked: it is loaded then, if it is not yet."""
        network = await self._networks.find(question.name, question.version)
        try:
            self._networks.backend.check_in_service(network.name)
        except OutOfService:
            return pb.ModelReadyResponse(ready=False)
        return pb.ModelReadyResponse(ready=self.admission.unready is None)

    async def model_metadata(self, question: pb.ModelMetadataRequest) -> pb.ModelMetadataResponse:
        return (await self._networks.find(question.name, question.version)).metadata()

    async def model_config(self, question: pb.ModelConfigRequest) -> pb.ModelConfigResponse:
        network = await self._networks.find(question.name, question.version)
        return pb.ModelConfigResponse(config=network.config())

    async def model_statistics(self, question: pb.ModelStatisticsRequest) -> pb.ModelStatisticsResponse:
        """Those of one network, or of all that were asked for so far."""
        if question.name:
            networks = [await self._networks.find(question.name, question.version)]
        else:
            networks = [each for name, each in self._networks.known.items() if name in self._counts]
        told = [self._counts.get(each.name, NetworkCounts()).told(each.name, each.card.version) for each in networks]
        return pb.ModelStatisticsResponse(model_stats=told)

    async def infer(self, request: pb.ModelInferRequest, regions: RegionsOfOne | None) -> pb.ModelInferResponse:
        """The outputs of a network; ``regions``: the shared memory of this client, None: it has none."""
        checked_name(request.id or "-", "the id of a request", self._inferences.limits.wire)
        with self.admission.request():
            network = await self._networks.find(request.model_name, request.model_version)
            counts, began_s = self._of(network.name), self._clock.monotonic_s()
            try:
                items, answer = await self._inferences.answer(network, request, regions)
            except SluiceError as error:
                took_s = self._clock.monotonic_s() - began_s
                counts.failed, counts.failed_s = counts.failed + 1, counts.failed_s + took_s
                self._ended(network.name, refusal(error)[0], 0, took_s)
                raise
            took_s = self._clock.monotonic_s() - began_s
            counts.answered, counts.answered_s = counts.answered + 1, counts.answered_s + took_s
            counts.items, counts.last_ms = counts.items + items, int(self._clock.now().timestamp() * 1000)
            self._ended(network.name, None, items, took_s)
            return answer

    async def repository_index(self, question: pb.RepositoryIndexRequest) -> pb.RepositoryIndexResponse:
        """All networks of the catalogue, or those that are loaded; others are loaded when they are asked for."""
        said = pb.RepositoryIndexResponse()
        known = self._networks.known
        for name in self._networks.names():
            loaded = self._networks.backend.is_loaded(name)
            if loaded or not question.ready:
                model = said.models.add(name=name, state="READY" if loaded else "UNAVAILABLE")
                model.version = known[name].card.version if name in known else ""
                model.reason = "" if loaded else "it is loaded when it is asked for"
        return said

    async def model_load(self, question: pb.RepositoryModelLoadRequest) -> pb.RepositoryModelLoadResponse:
        """Load a network; parameters are not looked at, for networks come from the catalogue only."""
        network = await self._networks.find(question.model_name)
        with self.admission.request():
            await self._networks.backend.load(network.name)
        return pb.RepositoryModelLoadResponse()

    async def model_unload(self, question: pb.RepositoryModelUnloadRequest) -> pb.RepositoryModelUnloadResponse:
        """Give a network's memory back once its requests are answered."""
        network = await self._networks.find(question.model_name)
        with self.admission.request():
            await self._networks.backend.unload(network.name)
        return pb.RepositoryModelUnloadResponse()

    def _of(self, name: str) -> NetworkCounts:
        """Those of a network; there are as many as are described."""
        return self._counts.setdefault(name, NetworkCounts())
