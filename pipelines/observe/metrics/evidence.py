"""Makes metrics of kept evidence when Prometheus asks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from pipelines.observe.metrics import families


class Kept(Protocol):
    """The account that a recorder keeps."""

    written: int
    dropped: int
    passed_over: int

    @property
    def bytes(self) -> int:
        """The folder's size on the disk."""
        ...

    @property
    def works(self) -> bool:
        """Whether recording goes on."""
        ...


class Evidence(Collector):
    """Shows the account of one recorder."""

    def __init__(self, kept: Kept) -> None:
        self._kept = kept

    def collect(self) -> Iterator[Metric]:
        """See ``prometheus_client``."""
        kept = self._kept
        for family, value in zip(
            families.EVIDENCE, (kept.written, kept.dropped, kept.passed_over, kept.bytes, kept.works), strict=True
        ):
            kind = CounterMetricFamily if family.kind == "counter" else GaugeMetricFamily
            yield kind(family.name, family.help, value=value)
