"""How often an endpoint may be called, and what that may cost: by the minute a token bucket, by the day a count. Pure.

A day is one of UTC. Work in the background leaves the other half of a minute's calls to frames.
"""

from __future__ import annotations

from datetime import date

from serving.remote.endpoint.question import most_tokens
from serving.remote.endpoint.reply import TokenUsage
from serving.remote.endpoint.terms import CallTerms, Question, TokenPrice

MILLION = 1_000_000
PATCH = 14
"""The side of the part of a picture that is a token, pixels: where models differ, this is the dearest."""
RULES = 200
"""Tokens of what a request says beside its question and its labels."""
LETTERS = 2
"""The letters of a token, at least, in the mean of a text."""


def expected(question: Question, detail: int) -> TokenUsage:
    """The most tokens that a call is expected to use: where a server does not tell, they are paid."""
    letters = len(question.text) + 3 * sum(len(label) + 3 for label in question.labels)
    pictured = (detail // PATCH + 1) ** 2
    return TokenUsage(pictured + RULES + letters // LETTERS, most_tokens(question.labels))


def cost(price: TokenPrice | None, usage: TokenUsage) -> float:
    """The cost of a call, in the price's currency.

    >>> round(cost(TokenPrice(0.2, 0.6, "EUR"), TokenUsage(prompt_tokens=500, completion_tokens=10)), 6)
    0.000106
    """
    if price is None:
        return 0.0
    return (price.given * usage.prompt_tokens + price.answered * usage.completion_tokens) / MILLION


class CallLimits:
    """Those of one endpoint. A call reserves what the dearest one has cost until its own cost is known."""

    def __init__(self, terms: CallTerms, price: TokenPrice | None, first: float = 0.0) -> None:
        """``first``: the expected cost of a call."""
        self._terms, self._price = terms, price
        self._bucket = float(terms.per_minute or 0)
        self._filled_s: float | None = None
        self._day: date | None = None
        self._calls = 0
        self._spent, self._dearest = 0.0, first

    def refusal(self, now_s: float, today: date, background: bool = False) -> str | None:
        """Why no call may be made now; None where one may. ``now_s``: of a steady clock."""
        self._turn(now_s, today)
        terms, price = self._terms, self._price
        least = 1.0 + (terms.per_minute or 0) / 2 * background
        if terms.per_minute is not None and self._bucket < least:
            return f"the {terms.per_minute} calls of a minute are made"
        if terms.per_day is not None and self._calls >= terms.per_day:
            return f"the {terms.per_day} calls of the day are made"
        if price is not None and price.per_day is not None and self._spent + self._dearest > price.per_day:
            return f"the {price.per_day:g} {price.currency} of the day are spent"
        return None

    def begin(self) -> float:
        """Count a call that is made now; returns what is reserved for it."""
        self._bucket -= 1.0
        self._calls += 1
        self._spent += self._dearest
        return self._dearest

    def end(self, reserved: float, paid: float) -> None:
        """Note the cost of a call that has ended."""
        self._spent = max(0.0, self._spent - reserved) + paid
        self._dearest = max(self._dearest, paid)

    def _turn(self, now_s: float, today: date) -> None:
        if self._terms.per_minute is not None:
            gone_s = 0.0 if self._filled_s is None else max(0.0, now_s - self._filled_s)
            self._bucket = min(float(self._terms.per_minute), self._bucket + gone_s * self._terms.per_minute / 60)
            self._filled_s = now_s
        if today != self._day:
            self._day, self._calls, self._spent = today, 0, 0.0
