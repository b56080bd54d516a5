"""The audit: may a shortcut go on answering in the oracle's place?

A shortcut is whatever answers more cheaply than the oracle: a variant, a specialised cascade, a learned cache. It is
used while nothing speaks against it, and has to prove within a bounded number of audits that it is good enough:

* on *probation* many of its answers are audited;
* it is *trusted* while its agreement is at least ``accuracy`` by the lower bound; then few of its answers are audited;
* where the lower bound falls below, it is on probation again at once;
* it is *off* where the upper bound is below ``accuracy``, where it was on probation for as long as the memory reaches,
  or where it was trusted and has begun to disagree often (``alarm.py``). After a rest, which doubles with each failure
  until one memory's worth of audits was good, it may try again with no evidence for or against it.

``docs/decisions/0016-the-audit.md`` gives the reasons, ``confidence.py`` the bounds. Nothing here reads a clock, draws
randomness or runs a network.
"""

from __future__ import annotations

import sys

import msgspec

from cache_adapt.audit.alarm import pressure, rings
from cache_adapt.audit.periods import Period, Recent
from cache_adapt.audit.state import AuditState, Phase, Rule, SwitchOff
from cache_adapt.audit.verdict import Estimate, estimate, is_worse, verdict

KEPT = 10
"""Switch-offs that are remembered with their reason."""


class Ticket(msgspec.Struct, frozen=True):
    """An answer that is to be audited."""

    trial: int
    weight: float


class Audit:
    """The audit of one stream and node: takes answers in their order, and outcomes in the order of their tickets.

    >>> audit = Audit(Rule(accuracy=0.9))
    >>> audit.phase, audit.uses_shortcut
    ('probation', True)
    >>> while audit.uses_shortcut:
    ...     audit.tell(audit.by_shortcut(coin=0.0), agrees=False)
    >>> audit.phase, audit.state.audits
    ('off', 5)
    """

    def __init__(self, rule: Rule, state: AuditState | None = None) -> None:
        """``state``: to go on with; by default a new trial."""
        self.rule = rule
        self.state = state or AuditState()
        if not rule.tolerance and self.uses_shortcut:
            self._switch_off("accuracy 1 allows for no disagreement at all")
            self.state.rest = sys.maxsize

    @property
    def phase(self) -> Phase:
        """See above."""
        return self.state.phase

    @property
    def uses_shortcut(self) -> bool:
        """Whether the shortcut may answer."""
        return self.state.phase != "off"

    @property
    def rate(self) -> float:
        """Share of the shortcut's answers that are audited now."""
        return self.rule.rate if self.state.phase == "trusted" else self.rule.probation_rate

    def by_shortcut(self, coin: float, possible: bool = True) -> Ticket | None:
        """Count an answer of the shortcut; returns a ticket if it is to be audited.

        ``coin``: uniform in [0, 1), independent of the answer. ``possible``: whether an audit could be taken on,
        decided before the coin was looked at; where not, the answer is left out of what the intervals speak of.
        """
        state = self.state
        state.by_shortcut += 1
        if not possible or not self.uses_shortcut:
            state.unsampled += 1
            return None
        state.unclaimed += self.rate
        if coin >= self.rate:
            return None
        weight, state.unclaimed = state.unclaimed, 0.0
        return Ticket(state.trial, weight)

    def by_oracle(self, answers: int = 1) -> None:
        """The oracle gave answers."""
        state = self.state
        state.by_oracle += answers
        if state.phase == "off":
            state.rest -= answers
            if state.rest <= 0:
                state.trial += 1
                state.phase, state.recent, state.unclaimed = "probation", Recent(), 0.0

    def tell(self, ticket: Ticket, agrees: bool) -> None:
        """The outcome of an audit; one of an earlier trial is only counted."""
        state, rule = self.state, self.rule
        state.audits += 1
        if ticket.trial != state.trial or not self.uses_shortcut:
            return
        if state.phase == "trusted":
            state.pressure = pressure(state.pressure, ticket.weight, agrees, rule.tolerance)
        state.recent = state.recent.with_audit(ticket.weight, agrees, rule.memory)
        self._judge()

    def give_up(self, tickets: int = 1) -> None:
        """So many answers that were drawn will not be audited, for a reason that has nothing to do with them."""
        self.state.given_up += tickets

    def estimate(self) -> Estimate:
        """The estimate from recent audits; for a shortcut that is off, the estimate at the time."""
        return estimate(self.state.recent.elder, self.rule.error)

    def _judge(self) -> None:
        state, recent = self.state, self.state.recent
        match verdict(recent, self.rule):
            case "worse":
                bad = recent.elder if is_worse(recent.elder, self.rule) else recent.younger
                self._switch_off(f"agrees too seldom: {self._found(bad)}")
            case "unproven":
                self._switch_off(f"cannot be shown to agree often enough: {self._found(recent.elder)}")
            case _ if rings(state.pressure):
                self._switch_off(f"has begun to disagree often, though it agreed {self._found(recent.elder)}")
            case "open":
                state.phase, state.pressure = "probation", 0.0
            case "good":
                state.phase = "trusted"
                if recent.is_full(self.rule.memory):
                    state.recent, state.failures = recent.without_elder(), 0

    def _found(self, period: Period) -> str:
        found = estimate(period, self.rule.error)
        return (
            f"in {found.sequential.low:.3f} to {found.sequential.high:.3f} of the answers by {found.audits} audits, "
            f"wanted {self.rule.accuracy:g}"
        )

    def _switch_off(self, reason: str) -> None:
        state = self.state
        state.phase, state.pressure, state.rest = "off", 0.0, self.rule.rest << min(state.failures, self.rule.doublings)
        state.failures += 1
        state.switched_off += 1
        state.last_switch_offs = [*state.last_switch_offs, SwitchOff(state.answers, reason)][-KEPT:]
