"""Periods of recent audits: old evidence leaves, so that a good past does not hide a bad present.

Two periods overlap. The elder speaks; once the younger is half grown, it takes the elder's place and a new one begins.
A period is grown when it has as many audits as the memory holds, or speaks of as many objects as a proof is good for:
a trusted shortcut is audited seldom, and its proof must not outlive what it was made on. A period begins between two
audits, at a moment that does not depend on what comes: its interval is valid at all times of its life at once. The
error is spent per period: of all periods, a share of ``error`` may at some time be wrong.
"""

from __future__ import annotations

import msgspec

from learning.saved import Count


class PeriodLimits(msgspec.Struct, frozen=True):
    """How far the elder may reach back."""

    audits: float
    """Audits, those included in which the oracle was not sure."""
    objects: float
    """Objects that were answered for, or would have been, in the shadow."""


class Period(msgspec.Struct, frozen=True):
    """Audits of a stretch of objects."""

    objects: Count = 0
    """Objects that the shortcut answered for, audited or not."""
    audits: Count = 0
    """Audits in which the oracle was sure: those that count."""
    disagreements: Count = 0
    unsure: Count = 0
    """Audits in which the oracle itself was not sure: told, but neither for nor against the shortcut."""

    named: Count = 0
    """Audits in which the oracle gave the object a name."""
    lost: Count = 0
    """Those of them in which the shortcut gave none, or another."""

    others: Count = 0
    """Objects that the oracle alone answered for, with a name."""

    def __post_init__(self) -> None:
        if not self.disagreements <= self.audits >= self.named >= self.lost:
            raise ValueError("more audits have failed, or named something, than there were")

    def with_object(self) -> Period:
        return msgspec.structs.replace(self, objects=self.objects + 1)

    def with_audit(self, agrees: bool | None, lost: bool | None = None) -> Period:
        """One audit more; ``agrees`` None: the oracle was not sure; ``lost`` None: it gave no name."""
        if agrees is None:
            return msgspec.structs.replace(self, unsure=self.unsure + 1)
        wrong, named, lost_ = self.disagreements + (not agrees), self.named + (lost is not None), self.lost + bool(lost)
        return msgspec.structs.replace(self, audits=self.audits + 1, disagreements=wrong, named=named, lost=lost_)

    def reaches(self, share: float, limits: PeriodLimits) -> bool:
        return self.audits + self.unsure >= share * limits.audits or self.objects >= share * limits.objects


class Recent(msgspec.Struct, frozen=True):
    """The two overlapping periods."""

    elder: Period = Period()
    younger: Period = Period()

    def with_object(self, limits: PeriodLimits) -> Recent:
        younger = self.younger.with_object() if self._two(limits) else self.younger
        return Recent(self.elder.with_object(), younger)

    def with_audit(self, agrees: bool | None, limits: PeriodLimits, lost: bool | None = None) -> Recent:
        younger = self.younger.with_audit(agrees, lost) if self._two(limits) else self.younger
        return Recent(self.elder.with_audit(agrees, lost), younger)

    def with_others(self, named: int, limits: PeriodLimits) -> Recent:
        """So many objects more for which the oracle alone answered, with a name."""
        elder, younger = self.elder, self.younger
        younger = msgspec.structs.replace(younger, others=younger.others + named) if self._two(limits) else younger
        return Recent(msgspec.structs.replace(elder, others=elder.others + named), younger)

    def is_full(self, limits: PeriodLimits) -> bool:
        """Whether the elder has to go."""
        return self.younger.reaches(0.5, limits)

    def without_elder(self) -> Recent:
        """The younger takes its place."""
        return Recent(self.younger)

    def _two(self, limits: PeriodLimits) -> bool:
        return self.elder.reaches(0.5, limits)
