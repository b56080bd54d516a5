"""What a run did, counted from its results. Pure; memory is bounded however long the run."""

from __future__ import annotations

from collections import Counter, OrderedDict, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from operators.schema import NodePlan, Result, StreamPlan
from pipelines.percentiles import Percentiles
from pipelines.timelines import Told, summaries

DECODE_STAGES = ("capture", "decode")
WAITING_STAGES = ("queue",)
FRAMEWORK_STAGES = ("framework",)
MAX_CAUSES = 50
OTHER_CAUSES = "other causes"
REMEMBERED_TRACKS = 4096
"""Of the tracks seen last: an older one does not come back."""


class Report:
    """A sink that counts: frames by outcome, objects and tracks by label, latency, and where the time went."""

    def __init__(self) -> None:
        self._outcomes: Counter[str] = Counter()
        self._causes: Counter[str] = Counter()
        self._late = 0
        self._objects: Counter[str] = Counter()
        self._tracks = Tracks()
        self._latency = Percentiles()
        self._stages: defaultdict[str, Percentiles] = defaultdict(Percentiles)
        self._streams: defaultdict[str, _Stream] = defaultdict(_Stream)

    def write(self, result: Result) -> None:
        """Count a result."""
        stream = self._streams[result.stream]
        self._outcomes[result.outcome] += 1
        stream.outcomes[result.outcome] += 1
        if result.outcome != "analysed":
            self._count_cause(result.cause or "unknown")
            return
        self._late += not result.plan.deadline_met
        self._latency.add(result.plan.latency_ms)
        stream.latency.add(result.plan.latency_ms)
        for name, duration_ms in result.plan.stages_ms.items():
            self._stages[name].add(duration_ms)
        for found in result.objects:
            self._objects[found.label] += 1
            if found.track_id is not None:
                self._tracks.see((result.stream, result.run, found.track_id), found.label)

    def summary(
        self, wall_s: float, plans: Sequence[StreamPlan] = (), timelines: Sequence[Told] = ()
    ) -> dict[str, Any]:
        """All figures as plain data.

        ``wall_s`` is how long the run took, ``plans`` what its audits found, ``timelines`` what specialization did.
        """
        return {
            "wall_s": round(wall_s, 3),
            "frames": _frames(self._outcomes),
            "fps": _rate(self._outcomes, wall_s),
            "late": self._late,
            "causes": dict(self._causes.most_common()),
            "objects": dict(self._objects.most_common()),
            "tracks": dict(self._tracks.counts()),
            "latency_ms": self._latency.summary(),
            "stages": {name: stage.summary() for name, stage in self._stages.items()},
            "share": self._share(),
            "streams": {name: stream.summary(wall_s) for name, stream in sorted(self._streams.items())},
            "audits": [_audit(plan.stream, node) for plan in plans for node in plan.nodes],
            "specialization": summaries(timelines, plans),
        }

    def _count_cause(self, cause: str) -> None:
        known = cause in self._causes or len(self._causes) < MAX_CAUSES
        self._causes[cause if known else OTHER_CAUSES] += 1

    def _share(self) -> dict[str, float]:
        """Of the time spent working, waiting left out: decoding, nodes (``inference``), and what is neither."""
        spent = {"decode": 0.0, "inference": 0.0, "framework": 0.0}
        for name, stage in self._stages.items():
            if name not in WAITING_STAGES:
                spent[_kind(name)] += stage.total_ms
        total = sum(spent.values())
        return {name: round(ms / total, 4) if total else 0.0 for name, ms in spent.items()}


class Tracks:
    """Counts distinct tracks by the label they bore most often, remembering only the latest."""

    def __init__(self, remembered: int = REMEMBERED_TRACKS) -> None:
        self._remembered = remembered
        self._labels: OrderedDict[tuple[str, str, int], Counter[str]] = OrderedDict()
        self._counts: Counter[str] = Counter()

    def see(self, track: tuple[str, str, int], label: str) -> None:
        """An observation of a track."""
        labels = self._labels.pop(track, Counter())
        self._counts.subtract(_usual(labels))
        labels[label] += 1
        self._counts.update(_usual(labels))
        self._labels[track] = labels
        if len(self._labels) > self._remembered:
            self._labels.popitem(last=False)

    def counts(self) -> Mapping[str, int]:
        """Label → number of tracks, most frequent first."""
        return {label: count for label, count in self._counts.most_common() if count}


def _usual(labels: Counter[str]) -> list[str]:
    """The most frequent label, as a list of one; of none, none."""
    return [label for label, _ in labels.most_common(1)]


class _Stream:
    """The figures of one stream."""

    def __init__(self) -> None:
        self.outcomes: Counter[str] = Counter()
        self.latency = Percentiles()

    def summary(self, wall_s: float) -> dict[str, Any]:
        return {
            "frames": _frames(self.outcomes),
            "fps": _rate(self.outcomes, wall_s),
            "latency_ms": self.latency.summary(),
        }


def _audit(stream: str, node: NodePlan) -> dict[str, Any]:
    found: dict[str, Any] = msgspec.to_builtins(node)
    del found["specialization"]  # has a place of its own
    return {"stream": stream, **found}


def _frames(outcomes: Mapping[str, int]) -> dict[str, int]:
    counts = {outcome: outcomes.get(outcome, 0) for outcome in ("analysed", "dropped", "failed")}
    return {"sampled": sum(counts.values()), **counts}


def _rate(outcomes: Mapping[str, int], wall_s: float) -> float:
    return round(outcomes.get("analysed", 0) / wall_s, 2) if wall_s > 0 else 0.0


def _kind(stage: str) -> str:
    if stage in DECODE_STAGES:
        return "decode"
    return "framework" if stage in FRAMEWORK_STAGES else "inference"
