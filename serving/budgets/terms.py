"""A budget as the query says it, what is told of it, and who keeps it. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple, Protocol

from serving.budgets.amounts import Amount
from serving.budgets.days import DayRule
from serving.budgets.frequency import KeptFrequency
from serving.budgets.prices import Prices

MOST_NAMED = 100
"""Models with spending of their own; that of further ones is told together."""
FURTHER = "further models"


class BudgetStanding(NamedTuple):
    """A day's budget as a ledger knows it, and what it has granted."""

    granted: float
    taken: float
    """By all processes; the part that they have not spent is given back when they end."""
    spent: Mapping[str, float]
    """On each model."""
    asked: Mapping[str, KeptFrequency]
    """How often each node asks, as it was told last."""


class Settlement(NamedTuple):
    """The wish of one process for a part of a day's budget, and its spending since the last one."""

    holder: str
    day: datetime
    change: float
    """So much more of it; below 0: given back."""
    most: float
    """The day's budget."""
    spent: Mapping[str, float]
    """On each model, since the last time."""
    asked: Mapping[str, KeptFrequency]
    """How often its nodes ask."""


class DayLedger(Protocol):
    """Knows what is spent of the day's budgets by all processes that share them, whatever becomes of one."""

    def settle(self, wanted: Settlement) -> BudgetStanding:
        """Take so much more of a day's budget, or give it back; what is taken is never brought above ``most``."""


@dataclass(frozen=True, slots=True)
class BudgetTerms:
    """A budget as the query says it."""

    holder: str
    """``backend gpu`` or ``node vehicle``."""
    per_day: Amount
    prices: Prices
    day: DayRule

    @property
    def key(self) -> str:
        """Names it in a ledger: what was spent in one unit is nothing in another."""
        return f"{self.holder} ({self.per_day.unit})"

    def __str__(self) -> str:
        return f"{self.per_day} a day of {self.holder}"


@dataclass(frozen=True, slots=True)
class BudgetReport:
    """The spending of a budget, in its unit."""

    holder: str
    unit: str
    per_day: float
    spent: dict[str, float]
    """By this process, on each model."""
    spent_today: dict[str, float]
    """On this day, by all processes that share the budget, on each model."""
    left: float
    """Today."""
    until: datetime
    """When the next day begins."""
