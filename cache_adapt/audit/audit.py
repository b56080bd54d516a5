"""The audit: may a shortcut answer in the oracle's place?

A shortcut is whatever answers more cheaply than the oracle: a variant, a specialised cascade, a learned cache. An audit
compares its answer for one object with the oracle's:

* in the *shadow* the oracle answers, and the shortcut beside it, unseen: every object is an audit;
* it is *trusted* while its agreement is at least ``accuracy`` by the lower bound; then few of its objects are audited;
* where the lower bound falls below, or the proof is too old, it is on *probation*: many are audited. What was compared
  with the oracle elsewhere, on as many pictures as would prove it, begins there;
* it is *off* where the upper bound is below ``accuracy``, where the memory was full before anything was proven, or
  where it was trusted and has begun to disagree often (``alarm.py``). After a rest, which doubles with each failure
  until one memory's worth of audits was good, it begins again in the shadow, with no evidence for or against it.

``docs/decisions/0022-a-fair-audit.md`` gives the reasons, ``confidence.py`` the bounds. Nothing here reads a clock,
draws randomness or runs a network.
"""

from __future__ import annotations

import sys

import msgspec

from cache_adapt.audit.alarm import pressure, rings
from cache_adapt.audit.periods import Period, Recent
from cache_adapt.audit.state import KEPT, AuditState, AuditSwitchOff, Phase, Rule
from cache_adapt.audit.verdict import AgreementEstimate, estimate, is_worse, verdict


class Ticket(msgspec.Struct, frozen=True):
    """An object that is to be audited."""

    attempt: int


class Audit:
    """The audit of one stream and node: takes objects in their order, and the outcomes of tickets in any.

    >>> audit = Audit(Rule(accuracy=0.9))
    >>> audit.phase, audit.uses_shortcut
    ('shadow', False)
    >>> while not audit.uses_shortcut:
    ...     audit.tell(audit.in_shadow(), agrees=True)
    >>> audit.phase, audit.state.audits
    ('trusted', 48)
    >>> audit.by_shortcut(coin=0.5) is None  # 1 % are audited
    True
    """

    def __init__(self, rule: Rule, state: AuditState | None = None) -> None:
        """``state``: to go on with; by default a new attempt."""
        self.rule = rule
        self.state = state or AuditState()
        if not rule.tolerance and self.state.phase != "off":
            self._switch_off("accuracy 1 allows for no disagreement at all")
            self.state.rest = sys.maxsize
        elif self.uses_shortcut:
            self._judge()  # the state may be one of another rule

    @property
    def phase(self) -> Phase:
        return self.state.phase

    @property
    def uses_shortcut(self) -> bool:
        return self.state.phase in ("trusted", "probation")

    @property
    def rate(self) -> float:
        """Share of the objects of a shortcut in use that are audited now."""
        return self.rule.rate if self.state.phase == "trusted" else self.rule.probation_rate

    def stands_for(self, edition: int) -> None:
        """Say what the shortcut is now; evidence about another edition is none about this one."""
        state = self.state
        if edition == state.edition:
            return
        state.edition = edition
        if state.phase != "off":
            self._begin()

    def answers_at_once(self) -> None:
        """Begin on probation in place of the shadow: elsewhere the shortcut was seen to agree as often as is wanted.

        Once only: where it was switched off, or has been asked before, the stream knows better.
        """
        state = self.state
        if state.phase == "shadow" and not state.attempt and not state.recent.elder.audits:
            state.phase = "probation"

    def in_shadow(self) -> Ticket | None:
        """Count an object that the shortcut would have answered for; None where it is not in the shadow."""
        if self.state.phase != "shadow":
            return None
        self.state.recent = self.state.recent.with_object(self.rule.limits)
        return Ticket(self.state.attempt)

    def by_shortcut(self, coin: float, possible: bool = True) -> Ticket | None:
        """Count an object that the shortcut answers for; returns a ticket if it is to be audited.

        ``coin``: uniform in [0, 1), independent of the answer. ``possible``: whether an audit could be taken on,
        decided before the coin was looked at; where not, the object is left out of what the intervals speak of.
        """
        state = self.state
        state.by_shortcut += 1
        if not possible or not self.uses_shortcut:
            state.unsampled += 1
            return None
        ticket = Ticket(state.attempt) if coin < self.rate else None
        state.recent = state.recent.with_object(self.rule.limits)
        if state.recent.is_full(self.rule.limits):
            self._judge()
        return ticket

    def by_oracle(self, objects: int = 1, named: int = 0) -> None:
        """Count objects that the shortcut did not answer for; ``named``: so many of them got a name."""
        state = self.state
        state.by_oracle += objects
        if named:
            state.recent = state.recent.with_others(named, self.rule.limits)
        if state.phase == "off":
            state.rest = max(0, state.rest - objects)
            if not state.rest:
                self._begin()

    def tell(self, ticket: Ticket, agrees: bool | None, lost: bool | None = None) -> None:
        """The outcome of an audit, None where the oracle was not sure; one of an earlier attempt is only counted.

        ``lost``: whether a name that the oracle gave was lost; None: it gave none.
        """
        state, rule = self.state, self.rule
        state.audits += agrees is not None
        state.unsure += agrees is None
        if ticket.attempt != state.attempt or state.phase == "off":
            return
        if state.phase == "trusted" and agrees is not None:
            state.pressure = pressure(state.pressure, agrees, rule.tolerance)
        state.recent = state.recent.with_audit(agrees, rule.limits, lost)
        self._judge()

    def give_up(self, tickets: int = 1) -> None:
        """Note that so many drawn objects will not be audited, for a reason that has nothing to do with the answers."""
        self.state.given_up += tickets

    def estimate(self) -> AgreementEstimate:
        """The estimate from recent audits; for a shortcut that is off, the estimate at the time."""
        return estimate(self.state.recent.elder, self.rule.error)

    def _judge(self) -> None:
        state, recent, rule = self.state, self.state.recent, self.rule
        match verdict(recent, rule):
            case "worse":
                bad = recent.elder if is_worse(recent.elder, rule) else recent.younger
                self._switch_off(f"agrees too seldom: {self._found(bad)}")
            case _ if rings(state.pressure):
                self._switch_off(f"has begun to disagree often, though it agreed {self._found(recent.elder)}")
            case "good":
                state.phase = "trusted"
                if recent.is_full(rule.limits):
                    state.recent, state.failures = recent.without_elder(), 0
                    self._judge()
            case "open" if recent.is_full(rule.limits):
                self._switch_off(f"cannot be shown to agree often enough: {self._found(recent.elder)}")
            case "open" if state.phase == "trusted":
                state.phase, state.pressure = "probation", 0.0

    def _found(self, period: Period) -> str:
        found = estimate(period, self.rule.error)
        unsure = f" ({found.unsure} more in which the oracle was not sure)" if found.unsure else ""
        return (
            f"in {found.sequential.low:.3f} to {found.sequential.high:.3f} of the objects by {found.audits} audits"
            f"{unsure}, wanted {self.rule.accuracy:g}"
        )

    def _begin(self) -> None:
        state = self.state
        state.attempt += 1
        state.phase, state.recent, state.pressure = "shadow", Recent(), 0.0

    def _switch_off(self, reason: str) -> None:
        state = self.state
        state.phase, state.pressure, state.rest = "off", 0.0, self.rule.rest << min(state.failures, self.rule.doublings)
        state.failures += 1
        state.switched_off += 1
        state.last_switch_offs = [*state.last_switch_offs, AuditSwitchOff(state.answers, reason)][-KEPT:]
