"""The conclusion from recent audits of a shortcut."""

from __future__ import annotations

from math import ceil
from typing import Literal

import msgspec

from cache_adapt.audit.confidence import ConfidenceInterval, against, exact, most_expected, sequential
from cache_adapt.audit.periods import Period, Recent
from cache_adapt.audit.state import Rule

Verdict = Literal["worse", "open", "good"]


class AgreementEstimate(msgspec.Struct, frozen=True):
    """Agreement in a period."""

    audits: int
    disagreements: int
    unsure: int
    """Audits that say nothing, since the oracle was not sure; not part of ``audits``."""
    agreement: float | None
    """Share of the audits; None before the first."""
    exact: ConfidenceInterval
    """For one look."""
    sequential: ConfidenceInterval
    """Valid at every look: what the verdict goes by."""


def estimate(period: Period, error: float) -> AgreementEstimate:
    """Agreement in a period, with both intervals."""
    audits, wrong = period.audits, period.disagreements
    if not audits:
        return AgreementEstimate(0, 0, period.unsure, None, ConfidenceInterval(0.0, 1.0), ConfidenceInterval(0.0, 1.0))
    intervals = exact(wrong, audits, error), sequential(wrong, audits, error)
    return AgreementEstimate(audits, wrong, period.unsure, 1 - wrong / audits, *intervals)


def verdict(recent: Recent, rule: Rule) -> Verdict:
    """Too many disagreements in either period, or few enough in the elder, or neither."""
    if is_worse(recent.elder, rule) or is_worse(recent.younger, rule):
        return "worse"
    return "good" if _is_good(recent.elder, rule) else "open"


def least_audits(accuracy: float, error: float = Rule(1.0).error) -> int:
    """How many audits prove that a shortcut agrees so often, 0 up to but not 1, if it always does."""
    return ceil(most_expected(0, error) / (1 - accuracy))


def is_worse(period: Period, rule: Rule) -> bool:
    """Whether the upper bound of the agreement is below what is wanted."""
    allowed = rule.tolerance * period.audits
    return period.disagreements > allowed and against(period.disagreements, allowed, rule.error)


def _is_good(period: Period, rule: Rule) -> bool:
    """Whether the lower bound reaches what is wanted."""
    allowed = rule.tolerance * period.audits
    return period.disagreements < allowed and against(period.disagreements, allowed, rule.error)
