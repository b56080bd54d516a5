"""The conclusion from recent audits of a shortcut."""

from __future__ import annotations

from typing import Literal

import msgspec

from cache_adapt.audit.confidence import Interval, against, exact, sequential
from cache_adapt.audit.periods import Period, Recent
from cache_adapt.audit.state import Rule

Verdict = Literal["worse", "unproven", "open", "good"]


class Estimate(msgspec.Struct, frozen=True):
    """Agreement in a period."""

    audits: int
    disagreements: int
    agreement: float | None
    """Share of the audits; None before the first."""
    exact: Interval
    """For one look."""
    sequential: Interval
    """Valid at every look: what the verdict goes by."""


def estimate(period: Period, error: float) -> Estimate:
    """Agreement in a period, with both intervals."""
    audits, wrong = period.audits, period.disagreements
    if not audits:
        return Estimate(0, 0, None, Interval(0.0, 1.0), Interval(0.0, 1.0))
    return Estimate(
        audits, wrong, 1 - wrong / audits, exact(wrong, audits, error), sequential(wrong, period.weight, error)
    )


def verdict(recent: Recent, rule: Rule) -> Verdict:
    """Too many disagreements in either period, or few enough in the elder, or neither before it is full."""
    if is_worse(recent.elder, rule) or is_worse(recent.younger, rule):
        return "worse"
    if _is_good(recent.elder, rule):
        return "good"
    return "unproven" if recent.is_full(rule.memory) else "open"


def is_worse(period: Period, rule: Rule) -> bool:
    """Whether the upper bound of the agreement is below what is wanted."""
    allowed = rule.tolerance * period.weight
    return period.disagreements > allowed and against(period.disagreements, allowed, rule.error)


def _is_good(period: Period, rule: Rule) -> bool:
    """Whether the lower bound reaches what is wanted."""
    allowed = rule.tolerance * period.weight
    return period.disagreements < allowed and against(period.disagreements, allowed, rule.error)
