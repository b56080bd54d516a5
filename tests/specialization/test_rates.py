from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from specialization.rates import Rates, Template

SMALL, LARGE = Rates(0.9, 0.05, 0.8), Rates(0.7, 0.15, 0.6)
TEMPLATE = Template("compact", 0.2, {2: SMALL, 10: LARGE})

# Tables 5.3 and 5.4 (Shen, 2019): special rate, cascade rate, oracle and WEG latency on the GPU; F2 takes 1.93 ms.
VIDEOS = [
    (0.880, 0.075, 28.97, 7.0),
    (0.959, 0.034, 28.84, 3.7),
    (0.937, 0.048, 29.26, 4.7),
    (0.920, 0.103, 29.18, 6.9),
    (0.801, 0.180, 28.97, 12.3),
]


def test_eq_5_1() -> None:
    # 0.8 · 0.9 + 0.8 · 0.05 · 0.7 + 0.2 · 0.8 · 0.7
    assert SMALL.accuracy(0.8, oracle_accuracy=0.7) == pytest.approx(0.72 + 0.028 + 0.112)


def test_eq_5_1_at_its_ends() -> None:
    assert SMALL.accuracy(1.0, 0.7) == pytest.approx(0.9 + 0.05 * 0.7)
    assert SMALL.accuracy(0.0, 0.7) == pytest.approx(0.8 * 0.7)


def test_rates_are_linear_between_measured_sizes() -> None:
    assert TEMPLATE.rates(2) == SMALL
    assert TEMPLATE.rates(10) == LARGE
    middle = TEMPLATE.rates(6)
    assert middle is not None
    assert msgspec.structs.astuple(middle) == pytest.approx((0.8, 0.1, 0.7))


def test_nothing_is_said_of_more_classes_than_measured_and_fewer_count_as_the_fewest() -> None:
    assert TEMPLATE.rates(1) == SMALL
    assert TEMPLATE.rates(11) is None


def test_cascade_cost() -> None:
    assert TEMPLATE.cascade_cost(SMALL, 0.5) == pytest.approx(0.2 + 0.5 * 0.05 + 0.5 * 0.8)


def test_what_the_oracle_is_spared_of_what_a_head_passes_on_makes_a_cascade_cheaper() -> None:
    early = Template("early", 0.2, {2: SMALL, 10: LARGE}, passed=0.85)
    assert early.cascade_cost(SMALL, 0.5) == pytest.approx(0.2 + (0.5 * 0.05 + 0.5 * 0.8) * 0.85)


@given(st.floats(0, 1), st.floats(0, 0.4), st.floats(0.5, 1))
def test_the_skew_follows_from_how_often_the_oracle_is_asked(skew: float, e_in_out: float, a_out: float) -> None:
    rates = Rates(0.5, e_in_out, a_out)
    assert rates.skew(rates.cascaded(skew)) == pytest.approx(skew, abs=1e-9)


@pytest.mark.parametrize(("cascaded", "skew"), [(0.0, 1.0), (1.0, 0.0)])
def test_a_skew_is_a_share(cascaded: float, skew: float) -> None:
    assert SMALL.skew(cascaded) == skew


def test_a_head_that_cannot_tell_others_shows_no_skew() -> None:
    assert Rates(0.5, 0.5, 0.5).skew(0.5) == 0.0


def test_a_template_is_stored_as_json() -> None:
    assert msgspec.json.decode(msgspec.json.encode(TEMPLATE), type=Template) == TEMPLATE
