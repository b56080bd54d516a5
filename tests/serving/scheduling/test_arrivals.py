from __future__ import annotations

import math

import pytest

from serving.scheduling.estimates import REMEMBERED, Arrivals


def test_one_request_says_nothing_about_the_rate() -> None:
    arrivals = Arrivals()
    assert arrivals.rate(0.0) == 0.0
    arrivals.note(1.0, 0.2)
    assert (arrivals.rate(1.0), arrivals.time_s) == (0.0, 0.2)


def test_a_steady_stream_has_its_rate_and_time() -> None:
    arrivals = Arrivals()
    for tick in range(20):
        arrivals.note(tick * 0.04, 0.1)
    assert arrivals.rate(0.76) == pytest.approx(25.0)
    assert arrivals.time_s == pytest.approx(0.1)


def test_a_change_is_followed() -> None:
    arrivals = Arrivals()
    now = 0.0
    for gap_s in [0.04] * 20 + [0.02] * 60:
        now += gap_s
        arrivals.note(now, 0.1)
    assert arrivals.rate(now) == pytest.approx(50.0, rel=0.01)


def test_silence_lowers_the_rate() -> None:
    arrivals = Arrivals()
    for tick in range(5):
        arrivals.note(tick * 0.1, 0.1)
    assert arrivals.rate(0.4) == arrivals.rate(0.5) == pytest.approx(10.0)
    assert arrivals.rate(1.5) == pytest.approx(5.0)
    assert arrivals.rate(100.0) == pytest.approx(0.1, rel=0.05)


def test_a_gap_that_chance_makes_hardly_lowers_it() -> None:
    arrivals = Arrivals()
    for tick in range(5):
        arrivals.note(tick * 0.1, 0.1)
    assert arrivals.rate(0.4 + 0.2) > 9.0


def test_requests_of_one_moment_are_no_infinite_rate() -> None:
    arrivals = Arrivals()
    arrivals.note(1.0, 0.1)
    arrivals.note(1.0, 0.1)
    assert arrivals.rate(1.0) == 0.0


def test_nearly_all_newcomers_have_the_short_time() -> None:
    arrivals = Arrivals()
    for tick in range(60):
        arrivals.note(tick * 0.01, (0.06, 0.1, 0.3)[tick % 3])
    assert arrivals.short_s(0.01) == 0.06
    assert arrivals.short_s(0.07) == 0.1
    assert arrivals.short_s(1.0) == arrivals.time_s


def test_a_straggler_with_hardly_any_time_is_not_planned_for() -> None:
    arrivals = Arrivals()
    for tick in range(40):
        arrivals.note(tick * 0.01, 0.02 if tick == 20 else 0.1)
    assert arrivals.short_s(0.01) == 0.1


def test_times_long_ago_are_forgotten() -> None:
    arrivals = Arrivals()
    for tick in range(30 + REMEMBERED):
        arrivals.note(tick * 0.01, 0.05 if tick < 30 else 0.2)
    assert arrivals.short_s(0.01) == 0.2


def test_the_share_that_is_given_up_follows_the_requests_not_the_batches() -> None:
    large, small = Arrivals(), Arrivals()
    large.left(900, 100)
    for _ in range(100):
        small.left(9, 1)
    assert large.lost == pytest.approx(small.lost)
    assert large.lost == pytest.approx(0.1 * (1 - 1 / math.e), rel=0.01)
    for _ in range(100):
        small.left(100, 0)
    assert small.lost < 1e-4


def test_decisions_about_nobody_tell_nothing() -> None:
    arrivals = Arrivals()
    arrivals.left(0, 0)
    assert arrivals.lost == 0.0
