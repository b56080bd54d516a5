"""An audit as it is published."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cache_adapt.audit.audit import Audit
from cache_adapt.audit.confidence import ConfidenceInterval, exact
from operators.wire import schema


@dataclass(frozen=True, slots=True)
class Audited:
    """Who answers in whose place."""

    node: str
    kind: schema.ShortcutKind
    oracle: str
    shortcuts: Sequence[str]
    """Models."""


def node_plan(of: Audited, audit: Audit) -> schema.NodePlan:
    """Describe what a node does for one stream, and what the audit has found."""
    state = audit.state
    return schema.NodePlan(
        node=of.node,
        kind=of.kind,
        oracle=of.oracle,
        shortcuts=list(of.shortcuts),
        phase=state.phase,
        answers=state.answers,
        shortcut_share=round(state.by_shortcut / state.answers, 4) if state.answers else 0.0,
        agreement=_agreement(audit),
        names_lost=_names_lost(audit),
        audits=state.audits,
        unsampled=state.unsampled,
        given_up=state.given_up,
        switched_off=state.switched_off,
        switch_offs=[schema.SwitchOff(answers=each.answers, reason=each.reason) for each in state.last_switch_offs],
    )


def _agreement(audit: Audit) -> schema.Agreement:
    found = audit.estimate()
    return schema.Agreement(
        wanted=audit.rule.accuracy,
        found=None if found.agreement is None else round(found.agreement, 4),
        audits=found.audits,
        disagreements=found.disagreements,
        unsure=found.unsure,
        exact=_interval(found.exact),
        sequential=_interval(found.sequential),
    )


def _names_lost(audit: Audit) -> schema.NamesLost | None:
    """The share of the oracle's names that are not given; None before the first audit of one."""
    recent = audit.state.recent.elder
    if not (recent.named and recent.objects):
        return None
    # An audit stands for as many objects as there are for one.
    objects = recent.objects / recent.audits
    names = recent.others + objects * recent.named
    kept = exact(recent.lost, recent.audits, audit.rule.error)
    low, high = (min(each * recent.objects / names, 1.0) for each in (1 - kept.high, 1 - kept.low))
    return schema.NamesLost(
        found=round(min(objects * recent.lost / names, 1.0), 4),
        names=round(names),
        lost=recent.lost,
        exact=_interval(ConfidenceInterval(low, high)),
    )


def _interval(found: ConfidenceInterval) -> schema.Interval:
    return schema.Interval(low=round(found.low, 4), high=round(found.high, 4))
