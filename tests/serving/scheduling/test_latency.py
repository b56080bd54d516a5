from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from serving.scheduling.estimates import LatencyEstimate, LatencyTable

POINTS = {1: 0.010, 4: 0.016, 8: 0.040}


@pytest.mark.parametrize(
    ("batch", "seconds"), [(0, 0.0), (1, 0.010), (2, 0.012), (4, 0.016), (6, 0.028), (8, 0.040), (10, 0.052)]
)
def test_linear_between_and_beyond_the_measured_sizes(batch: int, seconds: float) -> None:
    assert LatencyTable(POINTS)(batch) == pytest.approx(seconds)


def test_one_point_scales_up_but_not_down() -> None:
    table = LatencyTable({4: 0.02})
    assert (table(1), table(8)) == (0.02, 0.04)


def test_nothing_known_costs_nothing() -> None:
    assert LatencyTable({})(3) == 0.0
    assert LatencyEstimate().table(3) == 0.0


@given(st.dictionaries(st.integers(1, 64), st.floats(1e-4, 1.0), min_size=1), st.integers(1, 100))
def test_never_falls_with_the_batch(points: dict[int, float], batch: int) -> None:
    table = LatencyTable(points)
    assert table(batch) <= table(batch + 1) + 1e-12


def test_an_estimate_follows_what_it_sees() -> None:
    estimate = LatencyEstimate(POINTS)
    for _ in range(50):
        estimate.observe(4, 0.030)
    assert estimate.table(4) == pytest.approx(0.030, rel=1e-3)
    assert estimate.table(1) == pytest.approx(0.010)


def test_an_estimate_without_a_profile_begins_with_the_first_run() -> None:
    estimate = LatencyEstimate()
    estimate.observe(2, 0.5)
    assert estimate.table(2) == 0.5


def test_what_leads_to_drops_is_doubted_until_it_is_tried_again() -> None:
    estimate = LatencyEstimate({1: 1.0})
    for _ in range(100):
        estimate.doubt()
    assert estimate.table(1) < 0.15
