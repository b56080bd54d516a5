"""Whether heads can pay, and how often a node is asked."""

from __future__ import annotations

from dataclasses import replace

import pytest

from operators.recognise.account.demand import Demand
from operators.recognise.account.estimate import Estimate
from operators.recognise.account.outlook import Outlook, waiting

GOOD = Outlook(oracle_s=0.01, head_s=0.001, share=0.8, looks_per_hour=10_000, investment_s=5.0)


def test_a_large_network_that_is_asked_often_can_be_spared_much() -> None:
    assert GOOD.gain_s == pytest.approx(0.007)
    assert GOOD.why_not() is None


def test_what_the_oracle_is_spared_of_what_heads_pass_on_is_gained() -> None:
    assert replace(GOOD, passed_s=0.008).gain_s == pytest.approx(0.007 + 0.2 * 0.002)


def test_a_small_network_cannot_be_spared() -> None:
    found = replace(GOOD, oracle_s=0.0007, head_s=0.0006).why_not()
    assert found == (
        "a look of the oracle takes 0.70 ms of processor time, and that of a head, which could answer 80% at best, "
        "0.60 ms"
    )


def test_what_is_seldom_asked_does_not_bring_back_what_training_costs() -> None:
    assert replace(GOOD, looks_per_hour=700).why_not() == (
        "at 700 looks an hour heads could save 4.9 s of processor time in it, and getting them takes 5.0 s"
    )
    assert replace(GOOD, looks_per_hour=720).why_not() is None


def test_as_long_as_nobody_knows_how_often_it_is_asked_nothing_speaks_against_heads() -> None:
    assert replace(GOOD, looks_per_hour=None, investment_s=1e9).why_not() is None


def test_a_purse_that_is_overdrawn_holds_nothing() -> None:
    assert "takes 0.7 s of processor time; 0.00 s may be spent so far" in waiting(-0.4, 0.7, "training a head")


def test_looks_are_counted_over_the_time_of_the_stream() -> None:
    demand = Demand()
    assert demand.looks_per_hour is None
    for second in range(31):
        demand.looked(float(second), 2)
    assert demand.looks_per_hour == pytest.approx(62 / 30 * 3600)


def test_a_source_that_starts_anew_and_a_gap_are_no_time_of_the_stream() -> None:
    demand = Demand()
    for at_s in (*range(11), *range(11), 5000):
        demand.looked(float(at_s), 1)
    assert demand.looks_per_hour == pytest.approx(23 / 20 * 3600)


def test_an_estimate_follows_what_was_measured() -> None:
    estimate = Estimate(9.0)
    assert estimate.seconds == 9.0
    for seconds in (1.0, 2.0, 2.0):
        estimate.took(seconds)
    assert estimate.seconds == pytest.approx(1.75)
