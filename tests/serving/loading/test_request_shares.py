"""The forecast of requests: what it learns of popularity, drift and load cost."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from serving.loading.request_shares import FIRST_ROWS, RequestShares


def watched(
    requests: Sequence[int], models: int, load_s: Sequence[float] | None = None, every_s: float = 1.0
) -> RequestShares:
    """After these requests, each model having joined at the first one for it."""
    shares = RequestShares()
    for place, row in enumerate(requests):
        shares.observe(row, place * every_s)
        shares.join(row, load_s[row] if load_s else 1.0)
    for row in range(models):
        shares.join(row, load_s[row] if load_s else 1.0)
    return shares


def drawn(seed: int, weights: Sequence[float], requests: int) -> list[int]:
    rng = np.random.default_rng(seed)
    return [int(row) for row in rng.choice(len(weights), requests, p=np.array(weights) / sum(weights))]


def test_shares_approach_the_true_ones() -> None:
    truth = np.array([0.5, 0.25, 0.15, 0.1])
    shares = watched(drawn(1, list(truth), 3000), 4).of(np.arange(4))
    assert shares == pytest.approx(truth, abs=0.03)


def test_popularity_that_changes_is_followed() -> None:
    before, after = drawn(1, [0.9, 0.1], 1500), drawn(2, [0.1, 0.9], 400)
    first, second = watched(before + after, 2).of(np.arange(2))
    assert second > 2 * first


def test_popularity_that_stays_is_averaged_over_long() -> None:
    """A run of luck moves the forecast little where the past was steady."""
    steady = drawn(1, [1.0] * 20, 4000)
    lucky = watched([*steady, 7, 7, 7, 7], 20).of(np.arange(20))
    assert lucky[7] < 2 * np.median(lucky)


def test_models_requested_once_are_judged_by_their_like() -> None:
    """Costly models are the popular ones: a new costly one is expected to be popular too."""
    load_s = [4.0] * 10 + [0.1] * 10
    requests = drawn(3, [9.0] * 9 + [0.0] + [1.0] * 9 + [0.0], 600)
    costly, cheap = watched([*requests, 9, 19], 20, load_s).of(np.array([9, 19]))
    assert costly > 2 * cheap


def test_a_model_keeps_the_group_of_its_first_load() -> None:
    shares = watched([0, 0, 1], 2)
    before = shares.of(np.arange(2))
    shares.join(0, 1000.0)
    assert shares.of(np.arange(2)) == pytest.approx(before)


def test_days_without_a_request_are_survived() -> None:
    shares = RequestShares()
    with np.errstate(all="raise", under="ignore"):
        for day in range(40):
            shares.observe(day % 3, day * 86_400.0)
            shares.join(day % 3, 0.1)
        shares.observe(0, 1e9)
        forecast = shares.of(np.arange(3))
    assert np.isfinite(forecast).all()
    assert forecast[0] == max(forecast)


def test_a_clock_that_starts_anywhere() -> None:
    late = RequestShares()
    for place, row in enumerate([0, 0, 1, 0]):
        late.observe(row, 1e6 + place)
        late.join(row, 1.0)
    assert late.of(np.arange(2)) == pytest.approx(watched([0, 0, 1, 0], 2).of(np.arange(2)))


def test_rows_grow() -> None:
    shares = RequestShares()
    shares.grow()
    shares.observe(FIRST_ROWS + 3, 0.0)
    shares.join(FIRST_ROWS + 3, 1.0)
    assert shares.of(np.array([FIRST_ROWS + 3])) == pytest.approx([1.0])


@given(
    requests=st.lists(st.integers(0, 5), min_size=1, max_size=60),
    load_s=st.lists(st.floats(0.0, 1e12), min_size=6, max_size=6),
    every_s=st.floats(0.0, 1e5),
)
def test_shares_are_positive_and_sum_to_about_one(requests: list[int], load_s: list[float], every_s: float) -> None:
    forecast = watched(requests, 6, load_s, every_s).of(np.arange(6))
    assert (forecast > 0).all()
    assert forecast.sum() == pytest.approx(1.0, abs=0.5)
