"""The plan of a frame as its result repeats it. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from operators.base import Call
from operators.wire.schema import NodeDecision

DIGITS = 1


def decisions(calls: Mapping[str, Call]) -> dict[str, NodeDecision]:
    """By node, for those with a model to choose."""
    return {name: _decision(call, call.model) for name, call in calls.items() if call.model is not None}


def _decision(call: Call, variant: str) -> NodeDecision:
    plan = call.plan
    return NodeDecision(
        variant=variant,
        objects=call.objects,
        cause=plan.cause,
        expected_ms={model: round(1000 * seconds, DIGITS) for model, seconds in call.expected_s.items()},
        shortcuts=None if plan.shortcuts is None else sorted(plan.shortcuts),
        budget_ms=None if plan.budget_ms is None else round(plan.budget_ms, DIGITS),
        why=plan.why,
        declined=call.declined,
        skipped=call.skipped,
        window=call.window,
        reason=call.reason,
    )
