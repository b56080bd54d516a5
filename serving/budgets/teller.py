"""Tells how budgets stand while they are drawn on, and closes them."""

from __future__ import annotations

from collections.abc import Callable, Collection
from math import inf

from serving.budgets.day_budget import DayBudget
from serving.budgets.terms import BudgetReport
from serving.common.clock import Clock

TOLD_S = 1.0
"""The least time between two reports of a budget."""


class BudgetTeller:
    """For the budgets of one process."""

    def __init__(self, budgets: Collection[DayBudget], clock: Clock, told: Callable[[BudgetReport], None]) -> None:
        self._budgets, self._clock, self._told = budgets, clock, told
        self._told_s = -inf

    def called(self) -> None:
        """A budget may have been drawn on; must be called after each call."""
        now_s = self._clock.monotonic_s()
        if now_s - self._told_s >= TOLD_S:
            self._told_s = now_s
            self._tell()

    def close(self) -> None:
        """Give back what was not spent, and tell how all budgets stand."""
        for budget in self._budgets:
            budget.close()
        self._tell()

    def _tell(self) -> None:
        for budget in self._budgets:
            self._told(budget.report())
