"""In which streams a detector with ``when: needed`` may look ahead: where waiting for frames costs nobody anything."""

from __future__ import annotations

from pipelines.query.nodes import DetectNode, is_planned
from pipelines.query.query_file import Query, StreamSpec

LEAST_SLO_MS = 1000.0
"""A shorter time is not spent on waiting for frames where models are chosen by the time that is left."""


def streams_ahead(query: Query) -> frozenset[str]:
    """Return the streams in which frames may wait for those behind them."""
    return frozenset(stream.id for stream in query.streams if _detects(query) and why_not(query, stream) is None)


def unhurried(query: Query) -> frozenset[str]:
    """Return the streams whose frames wait for the analysis, so that their age says nothing: none of them is late."""
    return frozenset(stream.id for stream in query.streams if not stream.uri.live and stream.overload_policy == "block")


def in_words(query: Query) -> list[str]:
    """Return how the detector decides in each stream, one line each; none where it runs on every frame."""
    if not _detects(query):
        return []
    return [f"stream {stream.id}: {_policy(why_not(query, stream))}" for stream in query.streams]


def why_not(query: Query, stream: StreamSpec) -> str | None:
    """Return why frames of a stream may not wait; None where they may."""
    if stream.uri.live:
        return "a live source"
    if stream.overload_policy != "block":
        return f"overload: {stream.overload_policy}"
    if any(node.task == "detect" and is_planned(node) for node in query.nodes):
        return "several detectors to choose from"
    if query.slo_ms < LEAST_SLO_MS and any(map(is_planned, query.nodes)):
        return f"models are chosen by the time that is left, and slo_ms is below {LEAST_SLO_MS:g}"
    return None


def _detects(query: Query) -> bool:
    return any(isinstance(node, DetectNode) and node.when == "needed" for node in query.nodes)


def _policy(why_live: str | None) -> str:
    if why_live is None:
        return "the detector looks ahead where `sluice run` plays it, and decides live elsewhere"
    return f"the detector decides live, frame by frame ({why_live})"
