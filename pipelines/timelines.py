"""Specialization in a run's report: figures, and what dominated when. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from operators.recognise.specialization_report import specialization
from operators.schema import Specialization, StreamPlan
from specialization.timeline import Timeline
from specialization.timeline_state import Span
from specialization.weg_state import WegState

Told = tuple[str, str, Timeline]
"""Stream, node, and what specialization did there."""


def summaries(timelines: Iterable[Told], plans: Iterable[StreamPlan]) -> list[dict[str, Any]]:
    """Of each timeline the figures as published and the spans, as plain data."""
    published = {
        (plan.stream, node.node): node.specialization for plan in plans for node in plan.nodes if node.specialization
    }
    return [
        {
            "stream": stream,
            "node": node,
            **msgspec.to_builtins(published.get((stream, node)) or _without_head(timeline)),
            "forgotten_spans": timeline.state.forgotten,
            "spans": [_span(each) for each in timeline.state.spans],
        }
        for stream, node, timeline in timelines
    ]


def _without_head(timeline: Timeline) -> Specialization:
    """Of a stream that nothing is published of, since the oracle alone has answered: templates cost nothing there."""
    found = specialization(timeline, WegState(), (), template_cost=0.0)
    spans = timeline.state.spans
    return msgspec.structs.replace(found, phase=spans[-1].phase) if spans else found


def _span(span: Span) -> dict[str, Any]:
    return {
        "from_s": round(span.from_s, 3),
        "to_s": round(span.to_s, 3),
        "phase": span.phase,
        "classes": list(span.classes),
    }
