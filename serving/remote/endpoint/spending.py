"""Counts of what an endpoint was asked, said and took."""

from __future__ import annotations

from dataclasses import dataclass

from serving.budgets.amounts import Amount


@dataclass
class EndpointSpending:
    """Those of one endpoint, since the process began."""

    calls: int = 0
    """Requests that were sent, also those that were tried again."""
    answered: int = 0
    """Looks with an answer."""
    unlisted: int = 0
    """Those whose answer was no word of the list: ``unknown``."""
    failed: int = 0
    """Looks without one, where calls have failed."""
    refused: int = 0
    """Looks that were not paid: a budget was spent, or the endpoint was left alone."""
    given_tokens: int = 0
    answered_tokens: int = 0
    cost: float = 0.0
    """In the unit of the budget."""
    seconds: float = 0.0
    """For which looks with an answer waited for it, all together."""

    def told(self, unit: str) -> str:
        """All of them in a line.

        >>> EndpointSpending(3, 2, 1, 1, 0, 800, 12, 0.0009, 0.9).told("EUR")
        '3 calls, 2 looks answered in 450 ms each (1 unlisted), 1 failed, 0 not paid; 800 + 12 tokens, 0.0009 EUR'
        """
        each_ms, cost = 1000 * self.seconds / max(1, self.answered), Amount(self.cost, unit)
        return (
            f"{self.calls} calls, {self.answered} looks answered in {each_ms:.0f} ms each ({self.unlisted} unlisted), "
            f"{self.failed} failed, {self.refused} not paid; {self.given_tokens} + {self.answered_tokens} tokens"
            + ("" if unit == "calls" else f", {cost}")
        )
