"""What may be spent: never more than the allowance, whatever is asked for, and never 1.02 times the oracle alone."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from learning.purse import REINVESTED, SHARE, Purse, unlimited


@dataclass
class Used:
    """Processor seconds of a process, set by hand."""

    seconds: float = 0.0

    def __call__(self) -> float:
        return self.seconds


def test_nothing_may_be_spent_before_anything_was_used() -> None:
    purse = Purse(Used())
    assert not purse.may_spend(1e-9)
    assert purse.may_spend(0.0)


def test_what_was_spent_is_no_longer_there() -> None:
    used = Used(50.0)
    purse = Purse(used, share=0.01)
    purse.spend("samples", 0.2)
    purse.spend("training", 0.1)
    assert purse.left_s == pytest.approx(0.2)
    assert purse.spent == {"samples": 0.2, "training": 0.1}
    used.seconds = 100.0
    assert purse.left_s == pytest.approx(0.7)


def test_what_is_set_aside_cannot_be_spent_a_second_time() -> None:
    purse = Purse(Used(100.0), share=0.01)
    assert purse.reserve(0.8)
    assert not purse.reserve(0.3)
    assert not purse.may_spend(0.3)
    purse.pay("training", 0.8, 0.1)
    assert purse.spent_s == pytest.approx(0.1)
    assert purse.may_spend(0.9)


def test_work_that_cost_more_than_was_thought_is_paid_off_first() -> None:
    used = Used(100.0)
    purse = Purse(used, share=0.01)
    purse.spend("profiling", 3.0)
    assert purse.left_s == pytest.approx(-2.0)
    used.seconds = 299.0
    assert not purse.may_spend(0.0)
    used.seconds = 301.0
    assert purse.may_spend(0.0)


def test_half_of_what_is_saved_may_be_spent_and_what_is_lost_is_spent() -> None:
    purse = Purse(Used(100.0), share=0.01)
    purse.saved(4.0)
    assert purse.left_s == pytest.approx(1.0 + 2.0)
    purse.saved(-4.5)
    assert purse.saved_s == pytest.approx(-0.5)
    assert purse.left_s == pytest.approx(1.0 - 0.5)


def test_a_purse_without_a_limit_allows_everything() -> None:
    purse = unlimited()
    purse.spend("profiling", 1e9)
    assert purse.reserve(1e9)


SECONDS = st.floats(0.0, 1000.0)
EVENTS = st.one_of(
    st.tuples(st.just("use"), SECONDS),
    st.tuples(st.just("spend"), SECONDS),
    st.tuples(st.just("reserve"), SECONDS),
    st.tuples(st.just("settle"), st.floats(0.0, 1.0)),
    st.tuples(st.just("save"), SECONDS),
)


@given(st.lists(EVENTS, max_size=60))
def test_whatever_is_asked_for_the_total_never_exceeds_the_allowance(events: list[tuple[str, float]]) -> None:
    used, under_way = Used(), list[float]()
    purse = Purse(used)
    for what, amount in events:
        if what == "use":
            used.seconds += amount
        elif what == "save":
            purse.saved(amount)
        elif what == "reserve" and purse.reserve(amount):
            under_way.append(amount)
        elif what == "settle" and under_way:
            estimate_s = under_way.pop()
            purse.pay("training", estimate_s, amount * estimate_s)
        elif what == "spend" and purse.may_spend(amount):
            purse.spend("samples", amount)
        allowed_s = SHARE * used.seconds + REINVESTED * purse.saved_s
        assert purse.spent_s + sum(under_way) <= allowed_s * (1 + 1e-9) + 1e-9


@given(
    oracle_s=st.floats(1e-4, 0.05),
    jobs=st.lists(st.floats(1e-4, 30.0), min_size=1, max_size=8),
    surprise=st.floats(0.5, 1.5),
)
def test_where_nothing_ever_pays_the_process_uses_at_most_1_02_times_the_oracle_alone(
    oracle_s: float, jobs: list[float], surprise: float
) -> None:
    """Streams on which heads never pay: each kind of work begins again whenever it may."""
    used, alone_s = Used(), 0.0
    purse = Purse(used)
    largest_s = max(jobs) * max(surprise - 1, 0.0)
    for _ in range(400):
        used.seconds += 50 * oracle_s
        alone_s += 50 * oracle_s
        for job_s in jobs:
            if purse.may_spend(job_s):
                purse.spend("training", job_s * surprise)
                used.seconds += job_s * surprise
        assert used.seconds <= 1.02 * alone_s + largest_s


@given(st.lists(st.tuples(st.floats(0, 0.9), st.floats(0, 0.5)), min_size=1, max_size=40))
def test_what_was_saved_is_never_spent_twice(steps: list[tuple[float, float]]) -> None:
    """A stream whose heads answer a share, at a share of the oracle's cost, and that spends all it may."""
    used, alone_s = Used(), 0.0
    purse = Purse(used)
    for answered, cost in steps:
        alone_s += 10.0
        used.seconds += 10.0 * (1 - answered + answered * cost)
        purse.saved(10.0 * answered * (1 - cost))
        spare_s = purse.left_s
        if spare_s > 0:
            purse.spend("audits", spare_s)
            used.seconds += spare_s
        assert used.seconds <= alone_s / (1 - SHARE) + 1e-6
