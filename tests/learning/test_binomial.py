"""Tails of the binomial distribution."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.special import bdtrc, betainc

from learning.binomial import at_least


@given(st.integers(1, 20_000), st.floats(0, 1), st.floats(1e-6, 1 - 1e-6))
@example(20_000, 0.5, 0.5)
@example(20_000, 1.0, 1 - 1e-6)
def test_it_is_what_scipy_says(trials: int, share: float, probability: float) -> None:
    successes = max(1, round(share * trials))
    expected = float(bdtrc(successes - 1, trials, probability))
    assert at_least(successes, trials, probability) == pytest.approx(expected, rel=1e-8, abs=1e-14)


@pytest.mark.parametrize(
    ("successes", "trials", "probability", "expected"),
    [(0, 5, 0.3, 1.0), (6, 5, 0.3, 0.0), (1, 5, 0.0, 0.0), (5, 5, 1.0, 1.0), (1, 1, 0.25, 0.25), (2, 2, 0.5, 0.25)],
)
def test_it_is_exact_at_the_ends(successes: int, trials: int, probability: float, expected: float) -> None:
    assert at_least(successes, trials, probability) == pytest.approx(expected)


@given(st.floats(0.01, 3000), st.floats(0.01, 3000), st.floats(1e-6, 1 - 1e-6))
def test_between_whole_numbers_it_is_the_incomplete_beta_function(successes: float, more: float, chance: float) -> None:
    expected = float(betainc(successes, more, chance))
    assert at_least(successes, successes + more - 1, chance) == pytest.approx(expected, rel=1e-7, abs=1e-12)
