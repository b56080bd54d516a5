"""A node's decision for a frame, as its result repeats it. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from operators.base import NodeAnswer
from operators.plan import Decision
from operators.wire.schema import NodeDecision

DIGITS = 1


def decision(plan: Decision, answer: NodeAnswer, expected_s: Mapping[str, float]) -> NodeDecision | None:
    """How a plan was carried out; None for a node without a model to choose."""
    if plan.variant is None:
        return None
    return NodeDecision(
        variant=plan.variant,
        objects=plan.objects,
        cause=plan.cause,
        expected_ms={model: round(1000 * seconds, DIGITS) for model, seconds in expected_s.items()},
        shortcuts=None if plan.shortcuts is None else sorted(plan.shortcuts),
        budget_ms=None if plan.budget_ms is None else round(plan.budget_ms, DIGITS),
        why=plan.why,
        declined=dict(answer.declined),
        skipped=answer.skipped,
        window=answer.window,
        detail=answer.detail,
        reason=answer.reason,
    )
