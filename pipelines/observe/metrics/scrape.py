"""``/metrics``: what was counted, and what is looked up when Prometheus asks: in between it costs nothing."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime

from aiohttp import web
from prometheus_client import CollectorRegistry, ProcessCollector, generate_latest
from prometheus_client.core import Metric
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from prometheus_client.registry import Collector

from operators.wire.schema import NodePlan, StreamPlan
from pipelines.observe.metrics import families
from pipelines.observe.metrics.families import EVIDENCE, STANDING, Family
from pipelines.observe.metrics.recorder import MetricsRecorder
from pipelines.observe.metrics.tallies import metric
from pipelines.observe.record.recorder import Keeper

FindPlans = Callable[[datetime], Sequence[StreamPlan]]
Sample = tuple[Family, tuple[str, ...], float]


class Scrape:
    """All metrics of this process."""

    def __init__(self, most_streams: int) -> None:
        self._registry = CollectorRegistry()
        self._standing = PlanCollector(most_streams)
        self._registry.register(self._standing)
        ProcessCollector(registry=self._registry)
        self.recorder = MetricsRecorder(self._registry, most_streams)
        self.find_plans: FindPlans = lambda now: ()
        """How streams stand with their shortcuts; called on the event loop for each scrape."""

    def beside(self, collector: Collector) -> None:
        """Show what another collector has, too."""
        self._registry.register(collector)

    @property
    def routes(self) -> list[web.RouteDef]:
        return [web.get("/metrics", self._answer)]

    async def _answer(self, request: web.Request) -> web.Response:
        self._standing.plans = self.find_plans(datetime.now(UTC))
        # There may be thousands of lines: frames should not wait until they are written.
        text = await asyncio.to_thread(generate_latest, self._registry)
        return web.Response(body=text, headers={"Content-Type": CONTENT_TYPE_LATEST})


class EvidenceCollector(Collector):
    """The account of all recorders."""

    def __init__(self, kept: Keeper) -> None:
        self._kept = kept

    def collect(self) -> Iterator[Metric]:
        kept = self._kept
        values = kept.written, kept.dropped, kept.passed_over, kept.bytes, kept.works
        return (metric(family, [((), value)]) for family, value in zip(EVIDENCE, values, strict=True))


class PlanCollector(Collector):
    """The plans that it was given last, of the first streams by name."""

    def __init__(self, most_streams: int) -> None:
        self._most = most_streams
        self.plans: Sequence[StreamPlan] = ()

    def collect(self) -> Iterator[Metric]:
        found = defaultdict[Family, dict[tuple[str, ...], float]](dict)  # queries that share a node tell it each
        for plan in self.plans[: self._most]:
            for node in plan.nodes:
                for family, labels, value in _samples(plan.stream, node):
                    found[family][labels] = value
        return (metric(family, found[family].items()) for family in STANDING)


def _samples(stream: str, node: NodePlan) -> Iterator[Sample]:
    """The figures of one node's shortcuts of one kind on a stream."""
    where, agreement = (stream, node.node, node.kind), node.agreement
    if agreement.found is not None:
        yield families.AGREEMENT, where, agreement.found
        yield families.AGREEMENT_LOW, where, agreement.sequential.low
        yield families.AGREEMENT_HIGH, where, agreement.sequential.high
    yield families.WANTED, where, agreement.wanted
    yield families.PHASE, (*where, node.phase), 1.0
    account = node.specialization.processor_s if node.specialization else node.processor_s
    if account is not None:
        yield families.SPARED_S, where[:2], account.avoided
        yield families.SAVED_S, where[:2], account.saved
