"""Periods of recent audits: old evidence leaves, so that a good past does not hide a bad present.

Two periods overlap. The elder speaks; once the younger has reached half of the memory, it takes the elder's place and a
new one begins. So the elder covers between half and all of the memory, and nothing older. A period begins between two
answers, at a moment that does not depend on what comes: its interval is valid at all times of its life at once. The
error is spent per period: of all periods, a share of ``error`` may at some time be wrong.
"""

from __future__ import annotations

import msgspec


class Period(msgspec.Struct, frozen=True):
    """Audits of a stretch of answers."""

    weight: float = 0.0
    """Sum of the probabilities with which its answers were to be audited: how many audits were to be expected."""
    audits: int = 0
    disagreements: int = 0

    def with_audit(self, weight: float, agrees: bool) -> Period:
        """One audit more; ``weight``: of all answers since the audit before."""
        return Period(self.weight + weight, self.audits + 1, self.disagreements + (not agrees))


class Recent(msgspec.Struct, frozen=True):
    """The two overlapping periods; their weight is the clock."""

    elder: Period = Period()
    younger: Period = Period()

    def with_audit(self, weight: float, agrees: bool, memory: float) -> Recent:
        """One audit more; ``memory`` is the weight that the elder may reach."""
        begun = self.elder.weight >= memory / 2
        younger = self.younger.with_audit(weight, agrees) if begun else self.younger
        return Recent(self.elder.with_audit(weight, agrees), younger)

    def is_full(self, memory: float) -> bool:
        """Whether the elder has to go."""
        return self.younger.weight >= memory / 2

    def without_elder(self) -> Recent:
        """The younger takes its place."""
        return Recent(self.younger)
