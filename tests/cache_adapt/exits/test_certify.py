"""Bounds on shares of wrong answers."""

from __future__ import annotations

import pytest
from scipy.stats import binom

from cache_adapt.exits.certify import DOUBT, is_tolerable, upper_bound


def test_the_bound_is_that_of_the_binomial_distribution():
    for wrong, trials in ((0, 100), (3, 200), (17, 1000)):
        assert binom.cdf(wrong, trials, upper_bound(wrong, trials)) == pytest.approx(DOUBT)
    assert upper_bound(5, 5) == 1.0


@pytest.mark.parametrize(("wrong", "trials"), [(0, 1), (0, 230), (3, 150), (5, 5), (0, 0), (1.4, 80.5), (7, 7.0)])
def test_a_bound_is_tolerable_up_to_what_it_is(wrong, trials):
    bound = upper_bound(wrong, trials)
    assert is_tolerable(wrong, trials, min(bound + 1e-6, 1.0))
    assert not is_tolerable(wrong, trials, bound - 1e-6)


def test_a_bound_takes_parts_of_inputs_too():
    assert upper_bound(0, 69) == pytest.approx(upper_bound(0.0, 0.3 * 230))
