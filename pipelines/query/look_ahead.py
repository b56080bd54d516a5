"""In which streams a detector with ``when: needed`` may look ahead: where waiting for frames costs nobody anything."""

from __future__ import annotations

from pipelines.query.nodes import DetectNode
from pipelines.query.query_file import Query, StreamSpec

LEAST_SLO_MS = 1000.0
"""A shorter time is not spent on waiting for frames where models are chosen by the time that is left."""


def streams_ahead(query: Query) -> frozenset[str]:
    """Return the streams in which frames may wait for those behind them."""
    if not any(isinstance(node, DetectNode) and node.when == "needed" for node in query.nodes):
        return frozenset()
    return frozenset(stream.id for stream in query.streams if why_not(query, stream) is None)


def why_not(query: Query, stream: StreamSpec) -> str | None:
    """Return why frames of a stream may not wait; None where they may."""
    if stream.uri.live:
        return "a live source"
    if stream.overload_policy != "block":
        return f"overload: {stream.overload_policy}"
    if query.slo_ms < LEAST_SLO_MS and any(len(node.model) > 1 for node in query.nodes if node.task == "recognise"):
        return f"models are chosen by the time that is left, and slo_ms is below {LEAST_SLO_MS:g}"
    return None
