"""A worker's part in a fleet: it tells what it asks backends for, and asks those that a placement names."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from operators.wire.schema import FleetPlacement
from pipelines.assembly.engine import FleetTools
from pipelines.kafka.topics import TopicsConfig
from pipelines.measure.process_meter import ProcessMeter
from pipelines.query.nodes import NetworkNode, NodeSpec
from pipelines.schedule.fleet_link import FleetLink
from pipelines.schedule.load_report import LoadReport, ProcessFacts
from pipelines.settings import BrokerSettings
from serving.common.clock import SYSTEM, Clock
from serving.remote.client.pick import PlacedRates
from serving.remote.endpoint.terms import is_endpoint
from serving.remote.session_meter import SessionMeter
from serving.variants.variant import placed

if TYPE_CHECKING:
    from serving.backend import Backend


class WorkerSide:
    """Used from one event loop; ``meter`` must hear what happens in the process."""

    def __init__(self, process: str, instead: Mapping[str, Sequence[str]], clock: Clock = SYSTEM) -> None:
        """``process``: the name in messages; ``instead``: by remote model, those that may answer in its place."""
        self.meter = ProcessMeter()
        self.tools = FleetTools(PlacedRates(), SessionMeter())
        facts = ProcessFacts(process, "worker", process.partition("/")[0], instead=instead)
        self._report = LoadReport(facts, self.meter, self.tools.meter, lambda networks: (), clock.monotonic_s())

    def runs(self, networks: Backend) -> None:
        """Tell how busy the networks of this process are."""
        self._report.stats = networks.stats

    @asynccontextmanager
    async def linked(self, settings: BrokerSettings, topics: TopicsConfig) -> AsyncIterator[None]:
        """Tell and obey while the block runs."""
        async with FleetLink(settings, topics, self._report, self.heed).running():
            yield

    def heed(self, placement: FleetPlacement) -> None:
        """Ask by this placement from now on."""
        self.tools.placed.take(placement.epoch, rates_of(placement))
        self._report.epoch = placement.epoch


def rates_of(placement: FleetPlacement) -> dict[str, dict[str, float]]:
    """Items per second by model and then by backend process."""
    found: defaultdict[str, defaultdict[str, float]] = defaultdict(lambda: defaultdict(float))
    for backend in placement.backends:
        for session in backend.sessions:
            found[session.model][backend.id] += session.rate
    return {model: dict(rates) for model, rates in found.items()}


def alternatives(nodes: Iterable[NodeSpec]) -> dict[str, list[str]]:
    """By remote model of these nodes, under its name at the backend: others that all its nodes take in its place.

    These are the nodes that name no model; a list of models is in the order of preference, and the worker's to choose.
    """
    found: dict[str, list[str]] = {}
    for node in nodes:
        served = [placed(name) for name in node.models if not is_endpoint(name)]
        models = [model for model, backend in served if backend is not None]
        free = isinstance(node, NetworkNode) and node.needs is not None
        for model in models:
            others = [other for other in models if other != model] if free else []
            found[model] = [each for each in found.get(model, others) if each in others]
    return found
