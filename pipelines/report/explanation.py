"""Says in words why a frame was analysed as it was: what nodes ran, who gave each answer, what made it late. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from operators.decision import FIRST_LISTED
from operators.wire.schema import Attribute, DetailPlan, NodeDecision, NodePlan, Object, Result

if TYPE_CHECKING:
    from serving.budgets.terms import BudgetReport

DROPPED = {
    "queue_full": "its stream's queue was full",
    "capture_overrun": "newer frames of the live source replaced it before it could be sent",
    "capture_buffer_full": "the broker was away or slow, and capture's buffer was full",
    "message_too_large": "its message was larger than its topic allows",
    "dropped by capture": "capture sent its header without an image",
}
"""Causes of drops in words."""
LATE, SURE_TO_BE_LATE = "it was past its deadline", "it was sure to miss its deadline (overload: drop_late)"
BEFORE = ("capture",)
"""Stages that end before the time from capture to result begins."""


def explain(result: Result, audits: Sequence[NodePlan] = (), budgets: Sequence[BudgetReport] = ()) -> list[str]:
    """Lines about one frame; ``audits``: those of its stream's shortcuts, ``budgets``: the query's, at any time."""
    said = [*_frame(result), *_nodes(result), *_objects(result), *_audits(audits)]
    return [*said, *map(str, budgets)]


def _frame(result: Result) -> Iterator[str]:
    plan, where = result.plan, f"frame {result.seq} of stream {result.stream}"
    took = f"{plan.latency_ms:.0f} ms after capture" if plan.latency_known else "after a time that is not known"
    yield f"{where}, at {result.frame.media_time_s:.2f} s of run {result.run}: {result.outcome}, {took}"
    if result.outcome == "dropped":
        yield f"  nobody looked at it: {_dropped(result)}; the query asks for {plan.slo_ms:g} ms"
        return
    if result.outcome == "failed":
        yield f"  it could not be analysed: {result.cause or 'no cause is given'}"
    if plan.waits is True:
        yield "  its stream waits for the analysis, as recordings do (overload: block), so no frame of it is late"
    elif not plan.latency_known:
        yield "  the clocks of capture and worker disagree, so whether it met its deadline is not known"
    elif plan.deadline_met:
        yield f"  in time: the query asks for {plan.slo_ms:g} ms"
    else:
        yield f"  late by {plan.latency_ms - plan.slo_ms:.0f} ms: the query asks for {plan.slo_ms:g} ms{_most(result)}"


def _dropped(result: Result) -> str:
    """Why, in words; only ``drop_late`` gives up a frame before its deadline has passed."""
    plan, cause = result.plan, result.cause or "no cause is given"
    if cause != "late":
        return DROPPED.get(cause, cause)
    if not plan.latency_known:
        return f"{LATE}, or sure to miss it"
    return LATE if plan.latency_ms >= plan.slo_ms else SURE_TO_BE_LATE


def _most(result: Result) -> str:
    """The stages that took most of a late frame's time."""
    stages = {name: ms for name, ms in result.plan.stages_ms.items() if name not in BEFORE}
    longest = sorted(stages.items(), key=lambda item: -item[1])[:2]
    return "; most of it went to " + " and ".join(f"{name} ({ms:.0f} ms)" for name, ms in longest) if longest else ""


def _nodes(result: Result) -> Iterator[str]:
    for name, decision in result.plan.nodes.items():
        hurried = result.plan.waits is not True
        yield f"{name} {_ran(decision, hurried)}{_took(result.plan.stages_ms.get(name))}"
        if decision.reason:
            yield f"  because {decision.reason}"
        elif decision.why not in ("", FIRST_LISTED):
            yield f"  because: {decision.why}"
        if decision.cause is not None:
            yield f"  no model had the time, so the policy {decision.cause!r} decided"
        others = {model: ms for model, ms in decision.expected_ms.items() if model != decision.variant}
        if others:
            yield "  in its place " + ", ".join(f"{model} would take up to {ms:.0f} ms" for model, ms in others.items())
        for part, why in decision.declined.items():
            yield f"  not as planned ({part}): {why}"


def _ran(decision: NodeDecision, hurried: bool) -> str:
    """``hurried``: there is a deadline, so that the node had so much time and no more."""
    if decision.skipped:
        return f"did not run {decision.variant}, but moved what it had found"
    ran = f"ran {decision.variant}" if decision.skipped is False else f"was to run {decision.variant}"
    if decision.detail is not None:
        ran += f" on {decision.detail} pixels of the longer side"
    objects = "" if decision.objects is None else f" for {_count(decision.objects, 'object')}"
    if not hurried or decision.budget_ms is None:
        return f"{ran}{objects}"
    left = f"which may take {decision.budget_ms:.0f} ms" if decision.budget_ms > 0 else "for which no time was left"
    return f"{ran}{objects}, {left}"


def _took(ms: float | None) -> str:
    return "" if ms is None else f", and took {ms:.1f} ms"


def _objects(result: Result) -> Iterator[str]:
    for each in result.objects:
        track = "" if each.track_id is None else f" (track {each.track_id})"
        yield f"object {each.id}{track}: {_found(each)}"
        yield from (f"  {_answer(attribute)}" for attribute in each.attributes)


def _found(each: Object) -> str:
    found = each.detection
    if found.provenance == "propagated":
        moved = f"; its box was moved by what the pixels did since the detector found it {found.age_ms:.0f} ms before"
    else:
        moved = ", found by the detector on this frame"
    return f"{found.label} {found.confidence:.2f}{moved}"


def _answer(said: Attribute) -> str:
    model = said.model.name if said.model.variant is None else f"{said.model.name}@{said.model.variant}"
    word = f"{said.name} is {said.label} ({said.confidence:.2f})"
    if said.provenance == "track":
        looked = "nobody had to look at it in this frame" if said.looked is None else _looked(said.looked, model)
        return f"{word}: pooled from {_count(said.looks or 0, 'look')}; {looked}"
    return f"{word}: {_looked(said.provenance, model)}"


def _looked(who: str, model: str) -> str:
    said = {
        "oracle": f"the oracle, {model}, looked at it",
        "variant": f"{model} looked at it in the oracle's place",
        "specialised": f"an exit of this stream in {model} answered before the network had ended",
        "cached": f"an exit for all streams in {model} answered before the network had ended",
        "reused": f"an earlier answer of {model} was taken again",
    }
    return said.get(who, f"{who} of {model}")


def _audits(audits: Sequence[NodePlan]) -> Iterator[str]:
    for each in audits:
        yield f"{each.node}, {_who(each)}: {_standing(each)}"
        yield from (f"  {line}" for line in detail_lines(each.detail))
        special = each.specialization
        if (reason := each.reason or (special.reason if special else None)) is not None:
            yield f"  {reason}"
        for off in each.switch_offs[-1:]:
            yield f"  last switched off after {_count(off.answers, 'object')}: it {off.reason}"


def detail_lines(detail: DetailPlan | None) -> Iterator[str]:
    """How much a detector is shown, why, and what more is worth."""
    if detail is None:
        return
    cost = "" if detail.cost is None else f", which costs {detail.cost:.2f} of the square on every frame"
    yield f"it is shown {detail.width} × {detail.height}{cost}; {detail.reason}"
    if detail.agreement is not None:
        audits = _count(detail.audits, "audit")
        yield f"what {detail.compared} pixels show agrees to {detail.agreement:.2f} with {detail.widest} in {audits}"


def _who(each: NodePlan) -> str:
    """Say what is audited."""
    if each.kind == "propagated":
        return f"frames that {each.oracle} skips"
    models = f" ({', '.join(each.shortcuts)})" if each.shortcuts else ""
    return f"shortcut {each.kind}{models} in place of {each.oracle}"


def _standing(each: NodePlan) -> str:
    found = each.agreement
    if found.found is None:
        return f"{each.phase}, not audited yet"
    between = f"{found.sequential.low:.3f}–{found.sequential.high:.3f}"
    return (
        f"{each.phase}, says the same in {found.found:.3f} of {_count(found.audits, 'audit')} "
        f"({between} at any time), wanted {found.wanted:g}"
    )


def _count(number: int, what: str) -> str:
    return f"{number} {what}" + ("" if number == 1 else "s")
