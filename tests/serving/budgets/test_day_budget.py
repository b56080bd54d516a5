"""One budget of a day."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from serving.budgets.day_budget import ASKED_AGAIN_S, SAVED_REQUESTS, DayBudget
from serving.budgets.prices import Amount, Prices
from serving.budgets.terms import BudgetTerms, DayRule
from tests.serving.budgets.memory_ledger import MemoryLedger

MIDNIGHT = datetime(2026, 6, 1, tzinfo=UTC)
DAY_S = 86_400.0


class Day:
    """A budget of 24 EUR whose clock a test moves."""

    def __init__(self, hour: float = 0.0) -> None:
        self.now_s = 3600 * hour
        terms = BudgetTerms("backend gpu", Amount(24.0, "EUR"), Prices("EUR"), DayRule())
        self.ledger = MemoryLedger()
        self.budget = DayBudget(terms, self.ledger, lambda: MIDNIGHT + timedelta(seconds=self.now_s))

    def request(self, node: str, cost: float, dearest: float = 0.0) -> bool:
        """A frame for which a node would like to pay; returns whether it did."""
        if self.budget.begins(node, self.now_s, dearest) < cost or not self.budget.reserve(node, cost):
            return False
        self.budget.pay(node, "large", cost, cost)
        return True


def test_a_steady_stream_spends_the_day_evenly() -> None:
    """A request every ten seconds may cost 24 EUR / 8 640; at three times that every third is paid."""
    day, paid = Day(), []
    for second in range(0, 86_400, 10):
        day.now_s = float(second)
        if day.request("vehicle", 3 * 240 / DAY_S):
            paid.append(second)
    quarters = [sum(21_600 * q <= each < 21_600 * (q + 1) for each in paid) for q in range(4)]
    assert sum(quarters) in range(2870, 2881)
    assert max(quarters) - min(quarters) <= 20
    assert day.budget.left == pytest.approx(0.0, abs=0.05)


def test_a_stop_in_the_day_leaves_what_the_rest_of_the_day_is_for() -> None:
    day = Day()
    for second in range(0, 43_200, 10):
        day.now_s = float(second)
        day.request("vehicle", 3 * 240 / DAY_S)
    assert day.budget.left == pytest.approx(12.0, abs=0.5)


def test_what_nobody_asked_for_in_the_night_is_there_in_the_day() -> None:
    day = Day(hour=12)
    for second in range(43_200, 86_400, 10):
        day.now_s = float(second)
        day.request("vehicle", 240 / DAY_S)
    assert day.budget.left == pytest.approx(12.0, abs=0.5), (
        "each costs its share of a whole day, and twice that is there"
    )


def test_a_dear_call_can_be_saved_for() -> None:
    day, paid = Day(), 0
    for second in range(86_400):
        day.now_s = float(second)
        paid += day.request("vehicle", 1.0, dearest=1.0)
    assert paid >= 22


def test_two_nodes_share_by_how_often_they_ask() -> None:
    day, paid = Day(), {"often": 0.0, "seldom": 0.0}
    cost = 0.0005
    for second in range(20_000):
        day.now_s = float(second)
        paid["often"] += cost * sum(day.request("often", cost, 2 * cost) for _ in range(2))
        paid["seldom"] += cost * day.request("seldom", cost, 2 * cost)
    # Shares e_n f_n are as f_n²: 4 to 1.
    assert paid["often"] / paid["seldom"] == pytest.approx(4.0, rel=0.15)


def test_a_new_day_begins_at_midnight_and_what_was_saved_stays_behind() -> None:
    day = Day(hour=23)
    assert day.budget.reserve("vehicle", 20.0)
    day.budget.pay("vehicle", "large", 20.0, 20.0)
    assert day.budget.left == pytest.approx(4.0)
    assert day.budget.report().until == (MIDNIGHT + timedelta(days=1)).isoformat()
    day.now_s = DAY_S
    assert day.budget.left == 24.0
    found = day.budget.report()
    assert (found.spent, found.spent_today) == ({"large": 20.0}, {})
    day.now_s = DAY_S - 10
    assert day.budget.left == 24.0, "a clock that is set back does not bring the day before back"


def test_what_was_reserved_before_midnight_is_paid_by_the_new_day() -> None:
    day = Day(hour=23)
    assert day.budget.reserve("vehicle", 10.0)
    day.now_s = DAY_S + 1
    day.budget.pay("vehicle", "large", 10.0, 12.0)
    assert day.budget.left == pytest.approx(12.0)


def test_a_call_that_was_not_made_costs_nothing() -> None:
    day = Day()
    assert day.budget.reserve("vehicle", 24.0)
    assert not day.budget.reserve("vehicle", 0.1)
    day.budget.pay("vehicle", "large", 24.0, 0.0)
    assert day.budget.left == 24.0
    assert day.budget.report().spent == {}


@settings(deadline=None)
@given(st.lists(st.tuples(st.floats(0, 3), st.floats(0, 3), st.floats(0, 20_000)), max_size=60))
def test_a_day_is_exceeded_by_no_more_than_estimates_were_wrong(calls: list[tuple[float, float, float]]) -> None:
    day, spent, errors = Day(), dict[int, float](), dict[int, float]()
    for estimate, cost, later_s in calls:
        number = int(day.now_s // DAY_S)
        if day.budget.reserve("vehicle", estimate):
            day.budget.pay("vehicle", "large", estimate, cost)
            spent[number] = spent.get(number, 0.0) + cost
            errors[number] = errors.get(number, 0.0) + max(cost - estimate, 0.0)
        day.now_s += later_s
    assert all(spent[number] <= 24.0 + errors[number] + 1e-6 for number in spent)


def test_saving_is_bounded() -> None:
    day = Day()
    for second in range(5000):
        day.now_s = float(second)
        may_cost = day.budget.begins("vehicle", day.now_s, 0.0)
    assert may_cost <= 1.01 * SAVED_REQUESTS * 24.0 / (DAY_S - 5000)


def test_a_call_for_which_a_node_has_not_saved_is_refused_and_a_caller_that_is_no_node_has_the_day() -> None:
    day = Day()
    day.budget.begins("vehicle", 0.0, 0.0)
    assert not day.budget.reserve("vehicle", 20.0)
    assert "its share of the day is used up" in day.budget.refusal("large on gpu", 20.0)
    assert day.budget.reserve("endpoint", 20.0)
    assert not day.budget.reserve("endpoint", 5.0)
    assert day.budget.refusal("large on gpu", 5.0).endswith("is spent until 2026-06-02 00:00 UTC")


def test_two_calls_at_once_do_not_spend_the_same_share() -> None:
    day = Day()
    may_cost = day.budget.begins("vehicle", 0.0, 1.0)
    assert day.budget.reserve("vehicle", may_cost)
    assert not day.budget.reserve("vehicle", may_cost)
    day.budget.pay("vehicle", "large", may_cost, 0.0)
    assert day.budget.reserve("vehicle", may_cost), "a call that was not made gives its share back"


def test_what_may_never_be_refused_takes_a_day_into_debt_and_no_further() -> None:
    day = Day()
    for second in range(1000):
        day.now_s = float(second)
        day.budget.begins("vehicle", day.now_s, 1.0)
        assert day.budget.reserve("vehicle", 0.0)
        day.budget.pay("vehicle", "small", 0.0, 1.0)
    assert day.budget.left == 0.0
    asked = day.ledger.asked
    assert asked < 100, "a day that is taken is not asked for at every call"
    day.now_s = DAY_S
    assert day.budget.begins("vehicle", day.now_s, 0.0) > 0, "the next day owes nothing"


def test_what_another_process_gives_back_is_found_within_a_minute() -> None:
    day = Day()
    other = DayBudget(day.budget.terms, day.ledger, lambda: MIDNIGHT + timedelta(seconds=day.now_s))
    assert other.reserve("face", 24.0)
    day.now_s = 60.0
    assert not day.budget.reserve("vehicle", 24.0)
    other.pay("face", "large", 24.0, 0.0)
    other.close()
    day.now_s += ASKED_AGAIN_S
    assert day.budget.reserve("vehicle", 24.0)
