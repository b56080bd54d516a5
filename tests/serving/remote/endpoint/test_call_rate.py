"""Calls of a minute."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from serving.remote.endpoint.call_cost import CallRate


def test_a_minutes_calls_come_back_one_by_one() -> None:
    rate = CallRate(2)
    for _ in range(2):
        assert rate.refusal(100.0) is None
        rate.begin()
    assert rate.refusal(100.0) == "the 2 calls of a minute are made"
    assert rate.refusal(129.9) is not None
    assert rate.refusal(130.1) is None


def test_the_background_leaves_half_of_a_minute_to_frames() -> None:
    rate, made = CallRate(10), 0
    while rate.refusal(0.0, background=True) is None:
        rate.begin()
        made += 1
    assert made == 5
    assert rate.refusal(0.0) is None


def test_without_a_bound_there_is_none() -> None:
    rate = CallRate(None)
    for _ in range(1000):
        assert rate.refusal(0.0, background=True) is None
        rate.begin()


@given(st.lists(st.floats(0, 30), max_size=200))
def test_no_minute_has_more_than_twice_its_calls_whatever_comes(gaps_s: list[float]) -> None:
    rate, now_s, made = CallRate(5), 0.0, []
    for gap_s in gaps_s:
        now_s += gap_s
        if rate.refusal(now_s) is None:
            rate.begin()
            made.append(now_s)
    for at_s in made:
        assert sum(at_s <= each < at_s + 60 for each in made) <= 10
