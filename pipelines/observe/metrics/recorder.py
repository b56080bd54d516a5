"""The observer that counts for Prometheus. A hook costs some microseconds; without an observer nothing is counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from importlib.metadata import version
from typing import Any

import prometheus_client
from prometheus_client import CollectorRegistry, Gauge, Histogram

from operators.observer import Observer
from operators.wire.schema import Attribute, Result, ShortcutKind, StreamStatus
from pipelines.observe.metrics import families
from pipelines.observe.metrics.causes import cause_word
from pipelines.observe.metrics.families import LATENCIES_S, RECORDED, Family
from pipelines.observe.metrics.stream_names import SHARED, StreamNames

Key = tuple[Family, tuple[str, ...]]


class Recorder(Observer):
    """Writes to the metrics of a registry; those of a stream go when the stream goes."""

    def __init__(self, registry: CollectorRegistry, most_streams: int) -> None:
        self._metrics = {family: _made(family, registry) for family in RECORDED}
        self._names = StreamNames(most_streams)
        self._streams: dict[str, dict[Key, Any]] = {}
        self._others: dict[Key, Any] = {}
        self._states: dict[str, Key] = {}
        self._partitions: set[int] = set()
        self._metrics[families.BUILD].labels(version("sluice-video")).set(1)
        self._metrics[families.HEALTHY].set(1)

    def frame_captured(self, stream: str, seq: int) -> None:
        """See ``Observer``."""
        self._of(stream, families.CAPTURED).inc()

    def frame_replaced(self, header: Any) -> None:
        """See ``Observer``."""
        self._of(header.stream, families.REPLACED).inc()

    def stream_state_changed(self, status: StreamStatus) -> None:
        """See ``Observer``. Streams without a name of their own show no state."""
        name = self._names.label(status.stream)
        if name == SHARED:
            return
        if (before := self._states.get(name)) is not None:
            self._remove(name, before)
        self._states[name] = families.STATE, (status.state, status.reason or "")
        self._of(name, families.STATE, status.state, status.reason or "").set(1)

    def frame_analysed(self, result: Result) -> None:
        """See ``Observer``."""
        self._count(result)
        plan, stream = result.plan, result.stream
        self._metrics[families.SLO].set(plan.slo_ms / 1000)
        if plan.latency_known:
            self._of(stream, families.LATENCY).observe(plan.latency_ms / 1000)
            self._of(stream, families.LATE).inc(not plan.deadline_met)
        for stage, took_ms in plan.stages_ms.items():
            self._shared(families.STAGE, stage).observe(took_ms / 1000)
        for provenance, count in Counter(each.detection.provenance for each in result.objects).items():
            self._of(stream, families.DETECTIONS, provenance).inc(count)
        answers = Counter(_looked(said) for found in result.objects for said in found.attributes)
        for looked, count in answers.items():
            self._of(stream, families.ANSWERS, looked).inc(count)

    def frame_dropped(self, result: Result) -> None:
        """See ``Observer``."""
        self._count(result)

    def frame_failed(self, result: Result) -> None:
        """See ``Observer``."""
        self._count(result)

    def audit_done(self, stream: str, node: str, kind: ShortcutKind, agrees: bool) -> None:
        """See ``Observer``."""
        self._of(stream, families.AUDITS, node, kind, _word(agrees)).inc()

    def head_trained(self, stream: str, node: str, classes: tuple[str, ...], used: bool) -> None:
        """See ``Observer``."""
        self._of(stream, families.TRAININGS, node, _word(used)).inc()

    def model_loaded(self, network: str, took_s: float, memory_bytes: int) -> None:
        """See ``EngineObserver``."""
        self._shared(families.MODEL_MEMORY, *_variant(network)).set(memory_bytes)

    def model_unloaded(self, network: str) -> None:
        """See ``EngineObserver``."""
        self._shared(families.MODEL_MEMORY, *_variant(network)).set(0)

    def network_ran(self, network: str, items: int, took_s: float) -> None:
        """See ``EngineObserver``."""
        which = _variant(network)
        self._shared(families.NETWORK_S, *which).inc(took_s)
        self._shared(families.NETWORK_ITEMS, *which).inc(items)
        self._shared(families.NETWORK_BATCHES, *which).inc()

    def worker_checked(self, waiting: Mapping[int, int], oldest_s: float, problem: str | None) -> None:
        """See ``Observer``. Partitions that moved away are shown no longer."""
        if waiting.keys() != self._partitions:
            self._metrics[families.LAG].clear()
            self._partitions = set(waiting)
        for partition, behind in waiting.items():
            self._metrics[families.LAG].labels(str(partition)).set(behind)
        self._metrics[families.QUEUE_AGE].set(oldest_s)
        self._metrics[families.HEALTHY].set(problem is None)

    def stream_dropped(self, stream: str) -> None:
        """See ``Observer``."""
        for key in list(self._streams.get(stream, ())):
            self._remove(stream, key)
        self._streams.pop(stream, None)
        self._states.pop(stream, None)
        self._names.release(stream)

    def _count(self, result: Result) -> None:
        if self._names.label(result.stream) == SHARED:
            self._metrics[families.LEFT_OUT].inc()
        self._of(result.stream, families.FRAMES, result.outcome, cause_word(result.outcome, result.cause)).inc()

    def _of(self, stream: str, family: Family, *labels: str) -> Any:
        """The metric of a stream, which is remembered so that it can be removed with it."""
        name = self._names.label(stream)
        children = self._streams.setdefault(name, {})
        key = family, labels
        if (child := children.get(key)) is None:
            child = children[key] = self._metrics[family].labels(name, *labels)
        return child

    def _shared(self, family: Family, *labels: str) -> Any:
        key = family, labels
        if (child := self._others.get(key)) is None:
            child = self._others[key] = self._metrics[family].labels(*labels)
        return child

    def _remove(self, name: str, key: Key) -> None:
        family, labels = key
        self._metrics[family].remove(name, *labels)
        self._streams[name].pop(key, None)


def _made(family: Family, registry: CollectorRegistry) -> Any:
    if family.kind == "histogram":
        return Histogram(family.name, family.help, family.labels, registry=registry, buckets=LATENCIES_S)
    kind = Gauge if family.kind == "gauge" else prometheus_client.Counter
    return kind(family.name, family.help, family.labels, registry=registry)


def _looked(said: Attribute) -> str:
    return said.looked if said.provenance == "track" and said.looked is not None else said.provenance


def _variant(network: str) -> tuple[str, str]:
    """Model and variant of a network's name; the variant is empty where the query names none."""
    model, _, variant = network.partition("@")
    return model, variant


def _word(yes: bool) -> str:
    return "yes" if yes else "no"
