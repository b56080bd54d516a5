"""How often something is asked for."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from serving.budgets.frequency import HORIZON_S, Frequency


@given(st.floats(0.1, 50), st.floats(30, 5000))
def test_a_steady_frequency_is_found_from_the_first_minute_on(per_s: float, seconds: float) -> None:
    often, number = Frequency(0.0), int(per_s * min(seconds, 600))
    for each in range(number):
        often.asked(each / per_s)
    assert often.at(number / per_s) == pytest.approx(per_s, rel=0.02, abs=0.05)


def test_what_is_asked_for_no_longer_becomes_rare() -> None:
    often = Frequency(0.0)
    for each in range(600):
        often.asked(float(each))
    assert often.at(600 + 5 * HORIZON_S) < 0.01
    assert Frequency(0.0).at(100.0) == 0.0
