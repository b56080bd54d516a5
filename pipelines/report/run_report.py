"""The report of a run: its figures, those of specialization among them, and its shape as JSON. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from operators.recognise.audits.standing import Standing, specialization
from operators.wire.schema import NodePlan, Specialization, StreamPlan
from operators.zones.visits import LineReport, ZoneReport
from pipelines.report.budget_text import BudgetFigures
from pipelines.report.tracks import LookReport
from specialization.timeline import Timeline
from specialization.timeline_state import PhaseSpan
from specialization.weg.state import PhaseName

NodeTimeline = tuple[str, str, Timeline]
"""Stream, node, and what specialization did there."""


class FrameCounts(msgspec.Struct, frozen=True):
    """Frames by outcome."""

    sampled: int
    analysed: int
    dropped: int
    failed: int


class Quantiles(msgspec.Struct, frozen=True):
    """Durations that 50, 95 and 99 % did not exceed, milliseconds; None where nothing was measured."""

    p50: float | None
    p95: float | None
    p99: float | None


class TimeShares(msgspec.Struct, frozen=True):
    """Shares of the time spent working, waiting left out; together 1, or 0 where nothing was measured."""

    decode: float
    inference: float
    """Nodes of the query."""
    framework: float


class StreamReport(msgspec.Struct, frozen=True):
    """One stream."""

    frames: FrameCounts
    fps: float
    """Analysed frames per second of the run."""
    latency_ms: Quantiles


class StreamFailure(msgspec.Struct, frozen=True):
    """Why a stream failed, or gave no frame."""

    reason: str | None
    message: str | None


class AuditReport(msgspec.Struct, frozen=True):
    """The audits of a stream at a node."""

    stream: str
    plan: NodePlan


class SpanReport(msgspec.Struct, frozen=True):
    """A time of one phase and the same dominant classes, media seconds."""

    from_s: float
    to_s: float
    phase: PhaseName
    classes: list[str]


class SpecializationReport(msgspec.Struct, frozen=True):
    """Specialization of a stream at a node."""

    stream: str
    node: str
    figures: Specialization
    forgotten_spans: int
    """Older spans, which are not kept."""
    spans: list[SpanReport]


class RunReport(msgspec.Struct, frozen=True, kw_only=True):
    """A whole run."""

    wall_s: float
    frames: FrameCounts
    fps: float
    """Analysed frames per second."""
    late: int | None
    """Frames analysed later than the SLO; None where all streams are files whose frames wait for the analysis."""
    latency_unknown: int
    causes: dict[str, int]
    """Frames that were not analysed, by why; most frequent first, as in the next two."""
    objects: dict[str, int]
    """Observations by label."""
    tracks: dict[str, int]
    """Distinct tracks by label."""
    answers: list[LookReport]
    """How recognisers came to their answers, by attribute."""
    latency_ms: Quantiles
    """From capture to result."""
    stages: dict[str, Quantiles]
    share: TimeShares
    streams: dict[str, StreamReport]
    failed_streams: dict[str, StreamFailure]
    silent_streams: dict[str, StreamFailure] = {}
    """Others that never gave a frame."""
    audits: list[AuditReport]
    specialization: list[SpecializationReport]
    lines: list[LineReport] = []
    """Who crossed the query's lines."""
    zones: list[ZoneReport] = []
    """Who entered its zones."""
    budgets: list[BudgetFigures] = []
    """The spending of the query's budgets."""

    def to_builtins(self) -> dict[str, Any]:
        """The object that ``--report`` writes."""
        found: dict[str, Any] = msgspec.to_builtins(self)
        found["audits"] = [_flat_audit(each) for each in found["audits"]]
        found["specialization"] = [_flat_specialization(each) for each in found["specialization"]]
        return found


def _flat_audit(audit: dict[str, Any]) -> dict[str, Any]:
    """Without what specialization did, which has a place of its own."""
    plan = {key: value for key, value in audit["plan"].items() if key != "specialization"}
    return {"stream": audit["stream"], **plan}


def _flat_specialization(found: dict[str, Any]) -> dict[str, Any]:
    return {
        "stream": found["stream"],
        "node": found["node"],
        **found["figures"],
        "forgotten_spans": found["forgotten_spans"],
        "spans": found["spans"],
    }


def summaries(timelines: Iterable[NodeTimeline], plans: Iterable[StreamPlan]) -> list[SpecializationReport]:
    """The figures of each timeline as they are published, and its spans."""
    published = {
        (plan.stream, node.node): node.specialization for plan in plans for node in plan.nodes if node.specialization
    }
    return [
        SpecializationReport(
            stream,
            node,
            published.get((stream, node)) or _without_head(timeline),
            timeline.state.forgotten,
            [_span(each) for each in timeline.state.spans],
        )
        for stream, node, timeline in timelines
    ]


def _without_head(timeline: Timeline) -> Specialization:
    """Nothing is published of a stream where the oracle alone has answered: templates cost nothing there."""
    spans = timeline.state.spans
    return specialization(timeline, Standing(spans[-1].phase if spans else "initialising", epoch=1))


def _span(span: PhaseSpan) -> SpanReport:
    return SpanReport(round(span.from_s, 3), round(span.to_s, 3), span.phase, list(span.classes))
