"""The rules and the state of an audit of one stream and node: plain data, as JSON by ``msgspec``."""

from __future__ import annotations

from math import inf
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from cache_adapt.audit.periods import PeriodLimits, Recent
from learning.saved import Count

Phase = Literal["shadow", "trusted", "probation", "off"]
KEPT = 10
"""Switch-offs that are remembered with their reason."""


class Rule(msgspec.Struct, frozen=True):
    """The demands on a shortcut."""

    accuracy: float
    """Agreement with the oracle that the query wants, 0…1."""
    rate: float = 0.01
    """ε: share of the objects of a trusted shortcut that are audited."""
    probation_rate: float = 0.25
    """The same on probation."""
    error: float = 0.05
    """α: share of periods whose interval may at some time be wrong."""
    patience: float = 50.0
    """The memory holds so many audits that these would disagree if it were as often as ``accuracy`` allows."""
    renewal: float = 10.0
    """A proof is good for twice the objects of which, audited at ``rate``, these would disagree at the limit."""
    rest: int = 500
    """Objects before a shortcut that was switched off tries again."""
    doublings: int = 6
    """The longest rest."""

    @property
    def tolerance(self) -> float:
        """Share of objects that may disagree."""
        return 1 - self.accuracy

    @property
    def limits(self) -> PeriodLimits:
        """How far the memory reaches; without tolerance nothing is ever audited, so that it reaches back for ever."""
        if not self.tolerance:
            return PeriodLimits(inf, inf)
        return PeriodLimits(
            round(self.patience / self.tolerance), round(2 * self.renewal / (self.rate * self.tolerance))
        )


class AuditSwitchOff(msgspec.Struct, frozen=True):
    """When a shortcut was switched off, and why."""

    answers: Count
    """Objects of the stream and node so far, by any answer."""
    reason: Annotated[str, Meta(max_length=500)]


class AuditState(msgspec.Struct):
    """All that is known of one stream and node. Without tracks, an object is one look."""

    phase: Phase = "shadow"
    edition: Count = 0
    """The version that the evidence is about: a shortcut that has been exchanged has to prove itself anew."""
    recent: Recent = Recent()
    pressure: float = 0.0
    """How near the alarm of a trusted shortcut is."""
    attempt: Count = 0
    rest: Count = 0
    """Objects still to come before the next attempt."""
    failures: Count = 0
    """Since the last time that it was good for as long as the memory reaches."""
    by_shortcut: Count = 0
    by_oracle: Count = 0
    """Objects that the shortcut did not answer for."""
    unsampled: Count = 0
    """Objects that the shortcut answered for while no audit could be taken on; no statement covers them."""
    audits: Count = 0
    """Since the beginning, those that are forgotten and those in the shadow included."""
    unsure: Count = 0
    """Since the beginning: those in which the oracle was not sure, which ``audits`` leaves out."""
    given_up: Count = 0
    """Objects that were drawn, but of which the oracle was not asked to the end."""
    switched_off: Count = 0
    last_switch_offs: Annotated[list[AuditSwitchOff], Meta(max_length=KEPT)] = []

    @property
    def has_begun(self) -> bool:
        """Whether anything has been asked of the shortcut."""
        return bool(self.by_shortcut or self.attempt or self.switched_off or self.recent.elder.objects)

    @property
    def answers(self) -> int:
        return self.by_shortcut + self.by_oracle
