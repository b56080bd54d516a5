"""Budgets of calls: by the minute, by the day, in money."""

from __future__ import annotations

from datetime import date, timedelta

from hypothesis import given
from hypothesis import strategies as st

from serving.remote.endpoint.call_limits import CallLimits
from serving.remote.endpoint.terms import CallTerms, TokenPrice

TODAY = date(2026, 1, 1)


def test_a_minutes_calls_come_back_one_by_one() -> None:
    limits = CallLimits(CallTerms(2, None), None)
    for _ in range(2):
        assert limits.refusal(100.0, TODAY) is None
        limits.end(limits.begin(), 0.0)
    assert limits.refusal(100.0, TODAY) == "the 2 calls of a minute are made"
    assert limits.refusal(129.9, TODAY) is not None
    assert limits.refusal(130.1, TODAY) is None


def test_the_background_leaves_half_of_a_minute_to_frames() -> None:
    limits = CallLimits(CallTerms(10, None), None)
    made = 0
    while limits.refusal(0.0, TODAY, background=True) is None:
        limits.end(limits.begin(), 0.0)
        made += 1
    assert made == 5
    assert limits.refusal(0.0, TODAY) is None


def test_a_day_ends_at_midnight() -> None:
    limits = CallLimits(CallTerms(None, 1), None)
    assert limits.refusal(0.0, TODAY) is None
    limits.end(limits.begin(), 0.0)
    assert limits.refusal(1.0, TODAY) == "the 1 calls of the day are made"
    assert limits.refusal(2.0, TODAY + timedelta(days=1)) is None


def test_money_is_reserved_until_a_call_is_paid() -> None:
    limits = CallLimits(CallTerms(None, None), TokenPrice(1.0, 1.0, "EUR", 1.0))
    assert limits.refusal(0.0, TODAY) is None
    limits.end(limits.begin(), 0.4)
    assert limits.refusal(0.0, TODAY) is None
    held = limits.begin()
    assert held == 0.4
    assert limits.refusal(0.0, TODAY) == "the 1 EUR of the day are spent"
    limits.end(held, 0.0)
    assert limits.refusal(0.0, TODAY) is None


@given(st.lists(st.tuples(st.floats(0, 100), st.floats(0, 0.3)), max_size=60))
def test_a_day_never_costs_more_than_one_call_above_its_budget(calls: list[tuple[float, float]]) -> None:
    limits, spent, dearest = CallLimits(CallTerms(None, None), TokenPrice(1.0, 1.0, "EUR", 1.0)), 0.0, 0.0
    for now_s, paid in calls:
        if limits.refusal(now_s, TODAY) is None:
            limits.end(limits.begin(), paid)
            spent, dearest = spent + paid, max(dearest, paid)
    assert spent <= 1.0 + dearest


@given(st.lists(st.floats(0, 30), max_size=200))
def test_no_minute_has_more_than_twice_its_calls_whatever_comes(gaps_s: list[float]) -> None:
    limits, now_s, made = CallLimits(CallTerms(5, None), None), 0.0, []
    for gap_s in gaps_s:
        now_s += gap_s
        if limits.refusal(now_s, TODAY) is None:
            limits.end(limits.begin(), 0.0)
            made.append(now_s)
    for at_s in made:
        assert sum(at_s <= each < at_s + 60 for each in made) <= 10
