"""What may be spent on learning: never more than the share, whatever is asked for, and nothing at the beginning."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from learning.budget import FIRST_S, SHARE, Budget, unlimited


@dataclass
class Used:
    """Processor seconds of a process, set by hand."""

    seconds: float = 0.0

    def __call__(self) -> float:
        return self.seconds


def test_nothing_that_takes_a_while_is_begun_before_the_process_has_used_half_a_minute() -> None:
    budget = Budget(SHARE, used := Used(FIRST_S - 0.01))
    assert (budget.may_spend(0.1), budget.reserve(0.1)) == (True, False)
    used.seconds = FIRST_S
    assert budget.reserve(SHARE * FIRST_S)


def test_what_was_spent_is_no_longer_there_and_is_known_by_kind() -> None:
    budget = Budget(0.01, used := Used(50.0))
    budget.spend("samples", 0.1)
    budget.spend("training", 0.1)
    budget.spend("samples", 0.1)
    assert budget.left_s == pytest.approx(0.2)
    assert budget.spent == {"samples": pytest.approx(0.2), "training": 0.1}
    used.seconds = 100.0
    assert budget.left_s == pytest.approx(0.7)


def test_what_is_set_aside_cannot_be_spent_a_second_time() -> None:
    budget = Budget(0.01, Used(100.0))
    assert budget.reserve(0.8)
    assert not budget.reserve(0.3)
    assert not budget.may_spend(0.3)
    budget.pay("training", 0.8, 0.1)
    assert budget.spent_s == pytest.approx(0.1)
    assert budget.may_spend(0.9)


def test_work_that_cost_more_than_was_thought_is_paid_off_first() -> None:
    budget = Budget(0.01, used := Used(100.0))
    budget.spend("opening", 3.0)
    assert budget.left_s == pytest.approx(-2.0)
    used.seconds = 299.0
    assert not budget.may_spend(0.0)
    used.seconds = 301.0
    assert budget.may_spend(0.0)


def test_a_budget_without_a_limit_allows_everything() -> None:
    budget = unlimited()
    budget.spend("training", 1e9)
    assert budget.reserve(1e9)


SECONDS = st.floats(0.0, 1000.0)
EVENTS = st.one_of(
    st.tuples(st.just("use"), SECONDS),
    st.tuples(st.just("spend"), SECONDS),
    st.tuples(st.just("reserve"), SECONDS),
    st.tuples(st.just("settle"), st.floats(0.0, 1.0)),
)


@given(st.floats(0.0, 1.0), st.lists(EVENTS, max_size=60))
def test_whatever_is_asked_for_what_is_spent_and_set_aside_never_exceeds_the_share(
    share: float, events: list[tuple[str, float]]
) -> None:
    budget, under_way = Budget(share, used := Used()), list[float]()
    for what, amount in events:
        if what == "use":
            used.seconds += amount
        elif what == "reserve" and budget.reserve(amount):
            under_way.append(amount)
        elif what == "settle" and under_way:
            estimate_s = under_way.pop()
            budget.pay("training", estimate_s, amount * estimate_s)
        elif what == "spend" and budget.may_spend(amount):
            budget.spend("samples", amount)
        assert budget.spent_s + sum(under_way) <= share * used.seconds * (1 + 1e-9) + 1e-9
        assert share or not budget.spent
        assert used.seconds >= FIRST_S or not under_way


@given(
    share=st.floats(0.001, 0.5),
    rest_s=st.lists(st.floats(0.1, 20.0), min_size=1, max_size=50),
    jobs=st.lists(st.floats(1e-4, 5.0), min_size=1, max_size=8),
    own=st.booleans(),
)
def test_learning_adds_no_more_than_its_share_to_what_the_rest_of_the_process_uses(
    share: float, rest_s: list[float], jobs: list[float], own: bool
) -> None:
    """``own``: whether the work's own seconds are among those that are used; those of a child process are not."""
    budget = Budget.beside(share, used := Used())
    for seconds in rest_s:
        used.seconds += seconds
        for job_s in jobs:
            if budget.may_spend(job_s):
                budget.spend("training", job_s)
                used.seconds += job_s if own else 0.0
    assert budget.spent_s <= share * sum(rest_s) * (1 + 1e-9)


def test_seconds_of_other_machines_count_as_used() -> None:
    budget = Budget(SHARE, Used(FIRST_S - 5))
    budget.used_elsewhere(4)
    assert (budget.used_s, budget.reserve(0.1)) == (FIRST_S - 1, False)
    budget.used_elsewhere(6)
    assert budget.reserve(0.1)
    assert budget.left_s == pytest.approx(SHARE * (FIRST_S + 5) - 0.1)


def test_what_takes_a_while_is_saved_up_for_and_samples_give_way_meanwhile() -> None:
    budget = Budget(0.1, used := Used(40.0))
    assert budget.may_spend(1.0, gives_way=True)
    assert not budget.reserve(6.0)
    assert not budget.may_spend(0.1, gives_way=True)
    assert budget.may_spend(0.1), "audits go on"
    used.seconds = 55.0
    assert not budget.may_spend(0.1, gives_way=True)
    used.seconds = 61.0
    assert budget.may_spend(0.1, gives_way=True), "it has not asked again for a while"
    assert budget.reserve(6.0)
    assert budget.may_spend(0.1, gives_way=True), "nothing is waited for"


def test_nothing_is_saved_up_for_before_anything_may_begin() -> None:
    budget = Budget(0.1, Used(FIRST_S - 1))
    assert not budget.reserve(6.0)
    assert budget.may_spend(0.1, gives_way=True)
