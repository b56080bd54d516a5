"""How streams stand with their shortcuts, made into metrics when Prometheus asks: in between it costs nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from operators.wire.schema import NodePlan, StreamPlan
from pipelines.observe.metrics import families
from pipelines.observe.metrics.families import STANDING, Family

Sample = tuple[Family, tuple[str, ...], float]


class Standing(Collector):
    """Shows the plans that it was given last, of the first streams by name."""

    def __init__(self, most_streams: int) -> None:
        self._most = most_streams
        self.plans: Sequence[StreamPlan] = ()

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """See ``prometheus_client``."""
        made = {each: GaugeMetricFamily(each.name, each.help, labels=each.labels) for each in STANDING}
        for plan in self.plans[: self._most]:
            for node in plan.nodes:
                for family, labels, value in samples(plan.stream, node):
                    made[family].add_metric(labels, value)
        yield from made.values()


def samples(stream: str, node: NodePlan) -> Iterator[Sample]:
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
