"""Specialization in a run's report: figures, and what dominated when. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from operators.recognise.shortcuts.shortcut import Standing
from operators.recognise.shortcuts.specialization_report import specialization
from operators.wire.schema import Specialization, StreamPlan
from pipelines.report.run_report import SpanReport, SpecializationReport
from specialization.timeline import Timeline
from specialization.timeline_state import PhaseSpan

NodeTimeline = tuple[str, str, Timeline]
"""Stream, node, and what specialization did there."""


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
