"""What the page says in words: a stream's state, a dropped frame's cause, and one frame explained. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from operators.wire.schema import Result, StreamStatus
from pipelines.observe.live.who import Who, who
from serving.common.printable import shortened

LONGEST = 300
"""Characters of a sentence that quotes a message."""
STATES = {
    "starting": "is being opened",
    "running": "is running",
    "stalled": "has stopped giving frames",
    "reconnecting": "was lost and is being opened again",
    "ended": "has ended",
    "failed": "was given up",
}
CAUSES = {
    "late": "too late for their deadline",
    "queue_full": "more waited than the queue holds",
    "capture_overrun": "newer ones came before they were taken",
    "capture_buffer_full": "the broker did not take them in time",
    "message_too_large": "larger than the topic allows",
    "node_failed": "a node of the query failed",
}
ANSWERED: Mapping[Who, str] = {
    "oracle": "the reference model",
    "variant": "a cheaper model",
    "specialised": "a small head trained for this stream",
    "cached": "a learned cache",
    "track": "what was known of the object already, without another look",
    "detector": "the detector",
    "propagated": "motion, which moved the boxes on without the detector",
}


def state_words(status: StreamStatus | None, silent_s: float) -> str:
    """A sentence about a stream; ``silent_s``: since its last result."""
    if status is None:
        return "Results come in." if silent_s < 10 else f"No result for {silent_s:.0f} s."
    said = f"The source {STATES[status.state]}"
    return f"{said}: {shortened(status.message, LONGEST)}." if status.message else f"{said}."


def explained(result: Result) -> list[str]:
    """One frame in a few sentences."""
    minutes, seconds = divmod(max(0.0, result.frame.media_time_s), 60)
    number = f"Frame {result.seq}, {minutes:.0f}:{seconds:04.1f} into the stream"
    if result.outcome != "analysed":
        ended = "was dropped" if result.outcome == "dropped" else "failed"
        return [f"{number}, {ended}: {shortened(result.cause or 'nobody said why', LONGEST)}."]
    return [f"{number}, shows {_things(result)}.", *_answers(result), _time(result), *_planned(result)]


def _things(result: Result) -> str:
    labels = Counter(found.label for found in result.objects)
    if not labels:
        return "nothing that the query asks for"
    named = [f"{count} × {shortened(label, 40)}" for label, count in labels.most_common(4)]
    more = len(labels) - len(named)
    return ", ".join([*named, f"{more} other kinds"] if more > 0 else named)


def _answers(result: Result) -> list[str]:
    counts = Counter(who(found) for found in result.objects)
    said = [f"{count} came from {ANSWERED[name]}" for name, count in counts.most_common()]
    return [f"Who answered: {'; '.join(said)}."] if said else []


def _time(result: Result) -> str:
    plan = result.plan
    if not plan.latency_known:
        return "How late it was is not known: the clocks of capture and worker disagree."
    kept = "in time" if plan.deadline_met else "too late"
    longest = sorted(plan.stages_ms.items(), key=lambda each: each[1], reverse=True)[:3]
    parts = ", ".join(f"{shortened(name, 40)} {took_ms:.0f} ms" for name, took_ms in longest if took_ms >= 0.5)
    took = f"It took {plan.latency_ms:.0f} ms from capture to result, {kept} for {plan.slo_ms:.0f} ms"
    return f"{took}; most of it: {parts}." if parts else f"{took}."


def _planned(result: Result) -> list[str]:
    chosen = [
        f"{shortened(node.variant, 80)} for {shortened(name, 40)} ({shortened(node.why, LONGEST)})"
        for name, node in list(result.plan.nodes.items())[:3]
        if node.why
    ]
    return [f"The plan was {', '.join(chosen)}."] if chosen else []
