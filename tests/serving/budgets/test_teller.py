"""Budgets are told of at most each second, and once more when they are closed."""

from __future__ import annotations

from serving.budgets.day_budget import TOLD_S, BudgetTeller, DayBudget
from serving.budgets.prices import Amount, Prices
from serving.budgets.terms import BudgetReport, BudgetTerms, DayRule
from tests.fake_clock import FakeClock
from tests.serving.budgets.memory_ledger import MemoryLedger


def test_it_is_told_at_most_each_second_and_what_is_left_comes_back_at_the_end() -> None:
    clock, ledger, told = FakeClock(), MemoryLedger(), list[BudgetReport]()
    terms = BudgetTerms("endpoint a", Amount(400.0, "calls"), Prices("calls"), DayRule())
    budget = DayBudget(terms, ledger, clock.now)
    teller = BudgetTeller([budget], clock, told.append)
    for _ in range(10):
        assert budget.reserve("a", 1.0)
        budget.pay("a", "a", 1.0, 1.0)
        teller.called()
    assert [each.spent for each in told] == [{"a": 1.0}]
    clock.advance(TOLD_S)
    teller.called()
    assert told[-1].spent == {"a": 10.0}
    teller.close()
    assert [len(told), told[-1].left] == [3, 390.0]
    assert list(ledger.taken.values()) == [10.0]
