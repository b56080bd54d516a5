"""The interval that an audit publishes of caches, beside the truth of what it speaks of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from numpy.random import Generator

from cache_adapt.audit.audit import Audit
from cache_adapt.audit.state import Rule


class Interval(NamedTuple):
    """How many of the caches' answers are right."""

    low: float
    high: float
    truth: float
    """Share of right ones among all answers that the interval speaks of, each weighted by its chance of an audit."""


class Published:
    """An audit that looks on; here nobody heeds it."""

    def __init__(self, accuracy: float, rng: Generator) -> None:
        self._audit, self._rng = Audit(Rule(accuracy)), rng
        self._attempt: tuple[int, int] | None = None
        self._drawn = self._right = 0.0
        """How many answers were to be drawn, expected, and how many of these are right."""

    def saw(self, edition: int, right: Sequence[bool]) -> Interval | None:
        """Let caches of this edition answer; the interval afterwards, None where none is published."""
        self._audit.stands_for(edition)
        for agrees in right:
            self._one(agrees)
        estimate = self._audit.estimate()
        if self._audit.phase == "off" or not estimate.audits or not self._drawn:
            return None
        return Interval(estimate.sequential.low, estimate.sequential.high, self._right / self._drawn)

    def _one(self, agrees: bool) -> None:
        audit = self._audit
        if audit.phase == "off":
            audit.by_oracle()
            return
        attempt = audit.state.edition, audit.state.attempt
        if attempt != self._attempt:
            self._attempt, self._drawn, self._right = attempt, 0.0, 0.0
        chance = audit.rate if audit.uses_shortcut else 1.0
        self._drawn, self._right = self._drawn + chance, self._right + chance * agrees
        ticket = audit.by_shortcut(self._rng.random()) if audit.uses_shortcut else audit.in_shadow()
        if ticket is not None:
            audit.tell(ticket, agrees)
