"""The cost of calls to an endpoint: by the call, by what goes over the wire, and by the tokens that it counts; and how
often it may be called. Pure.
"""

from __future__ import annotations

from serving.budgets.prices import CallWork, Prices
from serving.remote.endpoint.question import most_tokens
from serving.remote.endpoint.reply import TokenUsage
from serving.remote.endpoint.terms import Question, TokenPrices

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


class CallCost:
    """That of one endpoint's calls, in the unit of its budget.

    >>> cost = CallCost(Prices("EUR", per_call=0.001), TokenPrices(given=0.2, answered=0.6), TokenUsage(800, 40))
    >>> round(cost.of(TokenUsage(prompt_tokens=500, completion_tokens=10), wire_bytes=9000), 6)
    0.001106
    >>> round(cost.estimate(wire_bytes=9000), 6)
    0.001184
    """

    def __init__(self, prices: Prices, tokens: TokenPrices, expected: TokenUsage) -> None:
        """``expected``: the tokens of a call whose server does not tell them."""
        self._prices, self._tokens, self.expected = prices, tokens, expected
        self._dearest = 0.0

    def of(self, usage: TokenUsage | None, wire_bytes: int) -> float:
        """The cost of a call that was made; ``usage``: None where the server does not tell it."""
        used = usage or self.expected
        told = self._tokens.given * used.prompt_tokens + self._tokens.answered * used.completion_tokens
        found = self._prices.cost(CallWork(calls=1.0, sent_bytes=wire_bytes)) + told / MILLION
        self._dearest = max(self._dearest, found)
        return found

    def estimate(self, wire_bytes: int) -> float:
        """The most that a call is expected to cost."""
        dearest, expected = self._dearest, self.of(None, wire_bytes)
        self._dearest = dearest
        return max(dearest, expected)


class CallRate:
    """How often one endpoint may be called in a minute: a token bucket.

    Work in the background leaves the other half of a minute's calls to frames.
    """

    def __init__(self, per_minute: int | None) -> None:
        """``per_minute``: None for any number."""
        self._per_minute = per_minute
        self._bucket = float(per_minute or 0)
        self._filled_s: float | None = None

    def refusal(self, now_s: float, background: bool = False) -> str | None:
        """Why no call may be made now; None where one may. ``now_s``: of a steady clock."""
        most = self._per_minute
        if most is None:
            return None
        gone_s = 0.0 if self._filled_s is None else max(0.0, now_s - self._filled_s)
        self._bucket, self._filled_s = min(float(most), self._bucket + gone_s * most / 60), now_s
        least = 1.0 + most / 2 * background
        return None if self._bucket >= least else f"the {most} calls of a minute are made"

    def begin(self) -> None:
        """Count a call that is made now."""
        self._bucket -= 1.0
