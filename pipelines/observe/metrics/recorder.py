"""The observer that counts for Prometheus. Without an observer nothing is counted."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from prometheus_client import CollectorRegistry

from operators.observer import Observer
from operators.wire.schema import FrameHeader, Object, Result, ShortcutKind, StreamStatus
from pipelines.observe.metrics import families
from pipelines.observe.metrics.causes import cause_word
from pipelines.observe.metrics.families import RECORDED, Family
from pipelines.observe.metrics.tallies import SHARED, Figure, Histogram, StreamNames, Tallies

if TYPE_CHECKING:
    from serving.budgets.terms import BudgetReport

NETWORK = (families.NETWORK_S, families.NETWORK_ITEMS, families.NETWORK_BATCHES)
Key = tuple[Family, tuple[str, ...]]


class MetricsRecorder(Observer):
    """Writes to the figures of a registry; those of a stream go when the stream goes."""

    def __init__(self, registry: CollectorRegistry, most_streams: int) -> None:
        self._tallies = Tallies(RECORDED)
        registry.register(self._tallies)
        self._names = StreamNames(most_streams)
        self._streams: dict[str, dict[Key, Any]] = {}
        self._captured: dict[str, Figure] = {}
        self._stages: dict[str, Histogram] = {}
        self._networks: dict[str, tuple[Figure, ...]] = {}
        self._states: dict[str, Key] = {}
        self._partitions: set[int] = set()
        self._capturing = threading.Lock()
        self.unhurried: Collection[str] = ()
        """Streams whose frames wait for the analysis, so that none is late."""
        self.keeps_streams = False
        """Whether what was counted of streams stays when they are dropped, which are few."""
        self._tallies.at(families.BUILD, version("sluice-video")).value = 1
        self._tallies.at(families.HEALTHY).value = 1
        for single in (families.LEFT_OUT, families.QUEUE_AGE):
            self._tallies.at(single)

    def frame_captured(self, stream: str, seq: int) -> None:
        """See ``Observer``. A stream has one capture thread; under the shared name several may count."""
        figure = self._captured.get(stream)
        if figure is not None:
            figure.value += 1
            return
        with self._capturing:
            figure = self._of(stream, families.CAPTURED)
            figure.value += 1
        if stream in self._streams:
            self._captured[stream] = figure

    def frame_replaced(self, header: FrameHeader) -> None:
        with self._capturing:
            self._of(header.stream, families.REPLACED).value += 1

    def stream_state_changed(self, status: StreamStatus) -> None:
        """See ``Observer``. Streams without a name of their own show no state."""
        name = self._names.label(status.stream)
        if name == SHARED:
            return
        if (before := self._states.get(name)) is not None:
            self._remove(name, before)
        self._states[name] = families.STATE, (status.state, status.reason or "")
        self._of(name, families.STATE, status.state, status.reason or "").value = 1

    def frame_analysed(self, result: Result) -> None:
        self._count(result)
        plan, stream, query, tallies = result.plan, result.stream, result.query, self._tallies
        tallies.at(families.SLO, query).value = plan.slo_ms / 1000
        if plan.latency_known:
            self._of(stream, families.LATENCY, query).add(plan.latency_ms / 1000)
            self._of(stream, families.LATE, query).value += not plan.deadline_met and stream not in self.unhurried
        for stage, took_ms in plan.stages_ms.items():
            histogram = self._stages.get(stage)
            if histogram is None:
                histogram = self._stages[stage] = tallies.at(families.STAGE, stage)
            histogram.add(took_ms / 1000)
        boxes, answers = _counted(result.objects)
        for provenance, count in boxes.items():
            self._of(stream, families.DETECTIONS, provenance).value += count
        for provenance, count in answers.items():
            self._of(stream, families.ANSWERS, provenance).value += count

    def frame_dropped(self, result: Result) -> None:
        self._count(result)

    frame_failed = frame_dropped

    def frames_missing(self, stream: str, count: int) -> None:
        self._of(stream, families.MISSING).value += count

    def frame_left_out(self, header: FrameHeader, cause: str) -> None:
        self._of(header.stream, families.THINNED, cause).value += 1

    def audit_done(self, stream: str, node: str, kind: ShortcutKind, agrees: bool) -> None:
        self._of(stream, families.AUDITS, node, kind, _word(agrees)).value += 1

    def exits_made(self, stream: str, node: str, classes: tuple[str, ...], used: bool) -> None:
        self._of(stream, families.TRAININGS, node, _word(used)).value += 1

    def model_loaded(self, network: str, took_s: float, memory_bytes: int) -> None:
        self._tallies.at(families.MODEL_MEMORY, *_variant(network)).value = memory_bytes

    def model_unloaded(self, network: str) -> None:
        self._tallies.at(families.MODEL_MEMORY, *_variant(network)).value = 0

    def network_ran(self, network: str, items: int, took_s: float) -> None:
        figures = self._networks.get(network)
        if figures is None:
            which = _variant(network)
            figures = self._networks[network] = tuple(self._tallies.at(family, *which) for family in NETWORK)
        seconds, pictures, batches = figures
        seconds.value += took_s
        pictures.value += items
        batches.value += 1

    def worker_checked(self, waiting: Mapping[int, int], oldest_s: float, problem: str | None) -> None:
        """See ``Observer``. Partitions that moved away are shown no longer."""
        if waiting.keys() != self._partitions:
            self._tallies.clear(families.LAG)
            self._partitions = set(waiting)
        for partition, behind in waiting.items():
            self._tallies.at(families.LAG, str(partition)).value = behind
        self._tallies.at(families.QUEUE_AGE).value = oldest_s
        self._tallies.at(families.HEALTHY).value = problem is None

    def notification_ended(self, sink: str, outcome: str) -> None:
        """See ``Observer``. Sinks and outcomes are few: none is named by a message."""
        self._tallies.at(families.NOTIFICATIONS, sink, outcome).value += 1

    def sink_checked(self, sink: str, waiting: int) -> None:
        self._tallies.at(families.SINK_WAITING, sink).value = waiting

    def budget_stands(self, report: BudgetReport) -> None:
        """See ``Observer``. Budgets are few, and the models that are told apart are bounded."""
        self._tallies.at(families.BUDGET_LEFT, report.holder, report.unit).value = report.left
        for model, spent in report.spent.items():
            self._tallies.at(families.BUDGET_SPENT, report.holder, model, report.unit).value = spent

    def stream_dropped(self, stream: str) -> None:
        if self.keeps_streams:
            return
        for key in list(self._streams.get(stream, ())):
            self._remove(stream, key)
        self._streams.pop(stream, None)
        self._captured.pop(stream, None)
        self._states.pop(stream, None)
        self._names.release(stream)

    def _count(self, result: Result) -> None:
        ended = result.outcome, cause_word(result.outcome, result.cause)
        self._of(result.stream, families.FRAMES, result.query, *ended).value += 1
        if result.stream not in self._streams:
            self._tallies.at(families.LEFT_OUT).value += 1

    def _of(self, stream: str, family: Family, *labels: str) -> Any:
        """The figure of a stream, which is remembered so that it can be removed with it."""
        figures = self._streams.get(stream)
        if figures is None:
            stream = self._names.label(stream)
            figures = self._streams.setdefault(stream, {})
        key = family, labels
        found = figures.get(key)
        if found is None:
            found = figures[key] = self._tallies.at(family, stream, *labels)
        return found

    def _remove(self, name: str, key: Key) -> None:
        family, labels = key
        self._tallies.remove(family, name, *labels)
        self._streams[name].pop(key, None)


def _counted(objects: Sequence[Object]) -> tuple[Counter[str], Counter[str]]:
    """Boxes, and answers, by where they come from."""
    answers = [said for found in objects for said in found.attributes]
    looked = (said.looked if said.provenance == "track" and said.looked else said.provenance for said in answers)
    return Counter(found.detection.provenance for found in objects), Counter(looked)


def _variant(network: str) -> tuple[str, str]:
    """Model and variant of a network's name; the variant is empty where the query names none."""
    model, _, variant = network.partition("@")
    return model, variant


def _word(yes: bool) -> str:
    return "yes" if yes else "no"
