"""The figures themselves, and of which streams there are some, made into metrics when Prometheus asks.

They are plain numbers, since a frame changes twenty of them, and the metric objects of ``prometheus_client`` lock at
every change. A figure is changed by one thread at a time; a writer that cannot promise that takes a lock.
"""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from typing import Any

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from pipelines.observe.metrics.families import LATENCIES_S, Family

BOUNDS = (*map(str, LATENCIES_S), "+Inf")
SHARED = ""
"""The name under which all further streams are counted. No stream has it: their ids are not empty."""


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
        self._held[family].pop(labels, None)

    def clear(self, family: Family) -> None:
        self._held[family].clear()

    def collect(self) -> Iterator[Metric]:
        for family, held in self._held.items():
            yield metric(family, [(labels, getattr(found, "value", found)) for labels, found in list(held.items())])


def metric(family: Family, values: Iterable[tuple[tuple[str, ...], Any]]) -> Metric:
    """The metric of a family: numbers by their labels, or histograms."""
    if family.kind == "histogram":
        histogram = HistogramMetricFamily(family.name, family.help, labels=family.labels)
        for labels, found in values:
            histogram.add_metric(labels, list(zip(BOUNDS, accumulate(found.buckets), strict=True)), found.sum_s)
        return histogram
    kind = CounterMetricFamily if family.kind == "counter" else GaugeMetricFamily
    shown = kind(family.name, family.help, labels=family.labels)
    for labels, value in values:
        shown.add_metric(labels, value)
    return shown


class StreamNames:
    """Admits streams up to a number, so that no sender of names fills the memory; any thread may ask."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._names: set[str] = set()
        self._lock = threading.Lock()

    def label(self, stream: str) -> str:
        """The stream's own name, or ``SHARED`` where too many have come before it."""
        with self._lock:
            if stream not in self._names and len(self._names) >= self._most:
                return SHARED
            self._names.add(stream)
            return stream

    def release(self, stream: str) -> None:
        """The stream is gone: another one may take its place."""
        with self._lock:
            self._names.discard(stream)
