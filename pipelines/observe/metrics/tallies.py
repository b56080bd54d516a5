"""The figures themselves, made into metrics when Prometheus asks.

They are plain numbers, since a frame changes twenty of them, and the metric objects of ``prometheus_client`` lock at
every change. A figure is changed by one thread at a time; a writer that cannot promise that takes a lock.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Any

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from pipelines.observe.metrics.families import LATENCIES_S, Family

BOUNDS = (*map(str, LATENCIES_S), "+Inf")


class Figure:
    """A counter or a gauge."""

    __slots__ = ("value",)

    def __init__(self) -> None:
        self.value = 0.0


class Histogram:
    """Durations by bucket, and their sum."""

    __slots__ = ("buckets", "sum_s")

    def __init__(self) -> None:
        self.buckets = [0] * len(BOUNDS)
        self.sum_s = 0.0

    def add(self, duration_s: float) -> None:
        """Count a duration."""
        self.buckets[bisect_left(LATENCIES_S, duration_s)] += 1
        self.sum_s += duration_s


class Tallies(Collector):
    """The figures of some families, by labels."""

    def __init__(self, families: Sequence[Family]) -> None:
        self._held: dict[Family, dict[tuple[str, ...], Any]] = {family: {} for family in families}

    def at(self, family: Family, *labels: str) -> Any:
        """The ``Figure`` (of a histogram's family: the ``Histogram``) with these labels; new ones begin with 0."""
        held = self._held[family]
        found = held.get(labels)
        if found is None:
            found = held.setdefault(labels, Histogram() if family.kind == "histogram" else Figure())
        return found

    def remove(self, family: Family, *labels: str) -> None:
        """Show it no longer."""
        self._held[family].pop(labels, None)

    def clear(self, family: Family) -> None:
        """Show none of the family."""
        self._held[family].clear()

    def collect(self) -> Iterator[Metric]:
        """See ``prometheus_client``."""
        for family, held in self._held.items():
            yield _shown(family, list(held.items()))


def _shown(family: Family, held: Sequence[tuple[tuple[str, ...], Any]]) -> Metric:
    if family.kind == "histogram":
        histogram = HistogramMetricFamily(family.name, family.help, labels=family.labels)
        for labels, found in held:
            histogram.add_metric(labels, list(zip(BOUNDS, accumulate(found.buckets), strict=True)), found.sum_s)
        return histogram
    kind = CounterMetricFamily if family.kind == "counter" else GaugeMetricFamily
    metric = kind(family.name, family.help, labels=family.labels)
    for labels, found in held:
        metric.add_metric(labels, found.value)
    return metric
