"""A run's figures, counted from its results; memory is bounded however long the run."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

from operators.observer import Observer
from operators.wire.schema import Result, StreamPlan, StreamStatus
from pipelines.report.run_report import (
    AuditReport,
    FrameCounts,
    Quantiles,
    RunReport,
    StreamFailure,
    StreamReport,
    TimeShares,
)
from pipelines.report.tracks import LookCounts, Tracks

if TYPE_CHECKING:
    from serving.budgets.terms import BudgetReport

DECODE_STAGES = ("capture", "decode")
WAITING_STAGES = ("queue",)
FRAMEWORK_STAGES = ("framework",)
MAX_CAUSES = 50
OTHER_CAUSES = "other causes"


class RunCounts(Observer):
    """Counts frames by outcome, objects and tracks by label, latency, and where the time went."""

    def __init__(self, unhurried: Collection[str] = ()) -> None:
        """``unhurried``: streams whose frames wait for the analysis, so that their age says nothing."""
        self._unhurried = unhurried
        self._hurried = not unhurried
        self._outcomes: Counter[str] = Counter()
        self._causes: Counter[str] = Counter()
        self._late = 0
        self._latency_unknown = 0
        self._objects: Counter[str] = Counter()
        self._tracks = Tracks()
        self._looks = LookCounts()
        self._latency = Percentiles()
        self._stages: defaultdict[str, Percentiles] = defaultdict(Percentiles)
        self._streams: defaultdict[str, _StreamCounts] = defaultdict(_StreamCounts)
        self._budgets: dict[str, BudgetReport] = {}
        self._failed_streams: dict[str, StreamFailure] = {}
        self._troubles: dict[str, StreamFailure] = {}
        """Why streams gave no frame when they were last heard of."""

    def stream_state_changed(self, status: StreamStatus) -> None:
        said = StreamFailure(status.reason, status.message)
        if status.state == "failed":
            self._failed_streams[status.stream] = said
        elif status.state != "ended":  # that it ended does not say why
            self._troubles[status.stream] = said

    def frame_dropped(self, result: Result) -> None:
        self._count(result)
        cause = result.cause or "unknown"
        known = cause in self._causes or len(self._causes) < MAX_CAUSES
        self._causes[cause if known else OTHER_CAUSES] += 1

    frame_failed = frame_dropped

    def frame_analysed(self, result: Result) -> None:
        stream = self._count(result)
        hurried = result.stream not in self._unhurried
        self._hurried = self._hurried or hurried
        if result.plan.latency_known:
            self._late += hurried and not result.plan.deadline_met
            self._latency.add(result.plan.latency_ms)
            stream.latency.add(result.plan.latency_ms)
        else:
            self._latency_unknown += 1
        for name, duration_ms in result.plan.stages_ms.items():
            self._stages[name].add(duration_ms)
        self._looks.see(result)
        for found in result.objects:
            self._objects[found.label] += 1
            if found.track_id is not None:
                self._tracks.see((result.stream, result.run, found.track_id), found.label)

    def budget_stands(self, report: BudgetReport) -> None:
        self._budgets[report.holder] = report

    def report(self, wall_s: float, plans: Sequence[StreamPlan] = ()) -> RunReport:
        """All figures; ``wall_s`` is how long the run took, ``plans`` what its audits found."""
        return RunReport(
            wall_s=round(wall_s, 3),
            frames=_frames(self._outcomes),
            fps=_rate(self._outcomes, wall_s),
            late=self._late if self._hurried else None,
            latency_unknown=self._latency_unknown,
            causes=dict(self._causes.most_common()),
            objects=dict(self._objects.most_common()),
            tracks=self._tracks.counts(),
            answers=self._looks.report(),
            latency_ms=self._latency.quantiles(),
            stages={name: stage.quantiles() for name, stage in self._stages.items()},
            share=self._share(),
            streams={name: stream.report(wall_s) for name, stream in sorted(self._streams.items())},
            failed_streams=dict(self._failed_streams),
            silent_streams=self._silent(),
            audits=[AuditReport(plan.stream, node) for plan in plans for node in plan.nodes],
            budgets=list(self._budgets.values()),
        )

    def _silent(self) -> dict[str, StreamFailure]:
        heard = self._streams.keys() | self._failed_streams.keys()
        return {stream: why for stream, why in sorted(self._troubles.items()) if stream not in heard}

    def _count(self, result: Result) -> _StreamCounts:
        stream = self._streams[result.stream]
        self._outcomes[result.outcome] += 1
        stream.outcomes[result.outcome] += 1
        return stream

    def _share(self) -> TimeShares:
        """How the time spent working divides among decoding, nodes (``inference``), and what is neither."""
        spent = {"decode": 0.0, "inference": 0.0, "framework": 0.0}
        for name, stage in self._stages.items():
            if name not in WAITING_STAGES:
                spent[_kind(name)] += stage.total_ms
        total = sum(spent.values())
        return TimeShares(**{name: round(ms / total, 4) if total else 0.0 for name, ms in spent.items()})


class _StreamCounts:
    def __init__(self) -> None:
        self.outcomes: Counter[str] = Counter()
        self.latency = Percentiles()

    def report(self, wall_s: float) -> StreamReport:
        return StreamReport(_frames(self.outcomes), _rate(self.outcomes, wall_s), self.latency.quantiles())


def _frames(outcomes: Mapping[str, int]) -> FrameCounts:
    analysed, dropped, failed = (outcomes.get(outcome, 0) for outcome in ("analysed", "dropped", "failed"))
    return FrameCounts(analysed + dropped + failed, analysed, dropped, failed)


def _rate(outcomes: Mapping[str, int], wall_s: float) -> float:
    return round(outcomes.get("analysed", 0) / wall_s, 2) if wall_s > 0 else 0.0


def _kind(stage: str) -> str:
    if stage in DECODE_STAGES:
        return "decode"
    return "framework" if stage in FRAMEWORK_STAGES else "inference"


SMALLEST_MS = 0.001
"""Shorter durations count as this one."""
RATIO = 1.02
"""Ratio of neighbouring bins' bounds: an answer is at most 1 % off."""
_PER_E = 1 / math.log(RATIO)
"""Bins for each factor of e."""


class Percentiles:
    """A histogram with logarithmic bins: a microsecond to a day takes about 1 300 counters, whatever the number.

    >>> durations = Percentiles()
    >>> for milliseconds in range(1, 1001):
    ...     durations.add(milliseconds)
    >>> round(durations.at(0.5)), round(durations.at(0.95))
    (503, 949)
    >>> Percentiles().at(0.5) is None
    True
    """

    def __init__(self) -> None:
        self._bins: Counter[int] = Counter()
        self._count = 0
        self._low, self._high = math.inf, -math.inf
        self.total_ms = 0.0
        """The sum of all durations."""

    def add(self, duration_ms: float) -> None:
        self._bins[round(math.log(max(duration_ms, SMALLEST_MS) / SMALLEST_MS) * _PER_E)] += 1
        self._count += 1
        self.total_ms += duration_ms
        self._low, self._high = min(self._low, duration_ms), max(self._high, duration_ms)

    def at(self, share: float) -> float | None:
        """The duration that this share (0…1) of all do not exceed, milliseconds; None where none was counted."""
        wanted, seen = max(1, math.ceil(share * self._count)), 0
        for index in sorted(self._bins):
            seen += self._bins[index]
            if seen >= wanted:
                return min(max(SMALLEST_MS * RATIO**index, self._low), self._high)
        return None

    def quantiles(self) -> Quantiles:
        """Rounded to microseconds."""
        found = (self.at(percent / 100) for percent in (50, 95, 99))
        return Quantiles(*(None if value is None else round(value, 3) for value in found))
