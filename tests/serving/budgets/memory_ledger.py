"""A ledger without a file."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from serving.budgets.frequency import KeptFrequency
from serving.budgets.terms import BudgetStanding


class MemoryLedger:
    """Days in memory, by holder; a ``DayLedger``."""

    def __init__(self) -> None:
        self.taken: dict[tuple[str, datetime], float] = {}
        self.spent: dict[tuple[str, datetime], dict[str, float]] = {}
        self.asked = 0

    def settle(
        self,
        holder: str,
        day: datetime,
        change: float,
        most: float,
        spent: Mapping[str, float],
        asked: Mapping[str, KeptFrequency],
    ) -> BudgetStanding:
        self.asked += 1
        taken, known = self.taken.get((holder, day), 0.0), self.spent.setdefault((holder, day), {})
        granted = min(change, most - taken)
        self.taken[holder, day] = taken + granted
        for model, cost in spent.items():
            known[model] = known.get(model, 0.0) + cost
        return BudgetStanding(granted, self.taken[holder, day], dict(known), {})
