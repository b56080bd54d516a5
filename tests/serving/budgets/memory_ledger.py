"""A ledger without a file."""

from __future__ import annotations

from datetime import datetime

from serving.budgets.terms import BudgetStanding, Settlement


class MemoryLedger:
    """Days in memory, by holder; a ``DayLedger``."""

    def __init__(self) -> None:
        self.taken: dict[tuple[str, datetime], float] = {}
        self.spent: dict[tuple[str, datetime], dict[str, float]] = {}
        self.asked = 0

    def settle(self, wanted: Settlement) -> BudgetStanding:
        holder, day, change, most, spent, _ = wanted
        self.asked += 1
        taken, known = self.taken.get((holder, day), 0.0), self.spent.setdefault((holder, day), {})
        granted = min(change, most - taken)
        self.taken[holder, day] = taken + granted
        for model, cost in spent.items():
            known[model] = known.get(model, 0.0) + cost
        return BudgetStanding(granted, self.taken[holder, day], dict(known), {})
