"""The rules and the state of an audit of one stream and node: plain data, as JSON by ``msgspec``."""

from __future__ import annotations

from typing import Literal

import msgspec

from cache_adapt.audit.periods import Recent

Phase = Literal["probation", "trusted", "off"]


class Rule(msgspec.Struct, frozen=True):
    """The demands on a shortcut."""

    accuracy: float
    """Agreement with the oracle that the query wants, 0…1."""
    rate: float = 0.01
    """ε: share of a trusted shortcut's answers that are audited."""
    probation_rate: float = 0.25
    """The same on probation."""
    error: float = 0.05
    """α: share of periods whose interval may at some time be wrong."""
    patience: float = 50.0
    """How far the memory reaches: to that many disagreements, were they as frequent as ``accuracy`` allows."""
    rest: int = 2000
    """Answers of the oracle before a shortcut that was switched off tries again."""
    doublings: int = 6
    """The longest rest."""

    @property
    def tolerance(self) -> float:
        """Share of answers that may disagree."""
        return 1 - self.accuracy

    @property
    def memory(self) -> float:
        """The weight a period may reach."""
        return self.patience / self.tolerance


class SwitchOff(msgspec.Struct, frozen=True):
    """When a shortcut was switched off, and why."""

    answers: int
    """Answers of the stream and node so far, whoever gave them."""
    reason: str


class AuditState(msgspec.Struct):
    """All that is known of one stream and node."""

    phase: Phase = "probation"
    recent: Recent = Recent()
    unclaimed: float = 0.0
    """Weight of the answers since the last one that was drawn."""
    pressure: float = 0.0
    """How near the alarm of a trusted shortcut is."""
    trial: int = 0
    rest: int = 0
    """Answers of the oracle still to come before the next trial."""
    failures: int = 0
    """Since the last time that it was good for as long as the memory reaches."""
    by_shortcut: int = 0
    by_oracle: int = 0
    unsampled: int = 0
    """Answers that the shortcut gave while no audit could be taken on; no statement covers them."""
    audits: int = 0
    given_up: int = 0
    """Answers that were drawn, but of which the oracle was never asked."""
    switched_off: int = 0
    last_switch_offs: list[SwitchOff] = []

    @property
    def answers(self) -> int:
        """Whoever gave them."""
        return self.by_shortcut + self.by_oracle
