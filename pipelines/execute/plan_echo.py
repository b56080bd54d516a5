"""A node's decision for a frame, as its result repeats it. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from operators.base import NodeAnswer
from operators.decision import Decision
from operators.wire.schema import NodeDecision

DIGITS = 1


def decision(made: Decision, answer: NodeAnswer, expected_s: Mapping[str, float]) -> NodeDecision | None:
    """How a decision was carried out; None for a node without a model to choose."""
    if made.variant is None:
        return None
    return NodeDecision(
        variant=made.variant,
        objects=made.objects,
        cause=made.cause,
        expected_ms={model: round(1000 * seconds, DIGITS) for model, seconds in expected_s.items()},
        shortcuts=None if made.shortcuts is None else sorted(made.shortcuts),
        budget_ms=None if made.budget_ms is None else round(made.budget_ms, DIGITS),
        why=made.why,
        declined=dict(answer.declined),
        skipped=answer.skipped,
        window=answer.window,
        detail=answer.detail,
        reason=answer.reason,
    )
