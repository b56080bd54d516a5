from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from datasets.requests import CORRELATIONS, Correlation, associate, generate

LOAD_S = np.array([0.1, 3.0, 1.0, 0.3])


def correlation_of(counts: object, values: object) -> float:
    return float(np.corrcoef(np.log(np.asarray(counts)), np.log(np.asarray(values)))[0, 1])


def test_an_hour_is_of_the_paper_s_size() -> None:
    trace = generate(np.random.default_rng(0))
    assert 2000 < len(trace.counts) < 2800
    assert 14_000 < len(trace.models) < 20_000
    assert 0 <= trace.times_s[0] < 1
    assert 3599 < trace.times_s[-1] < 3600


def test_requests_are_in_order_at_equal_distances_within_a_minute() -> None:
    trace = generate(np.random.default_rng(0), functions=300, minutes=5, requests_per_minute=100)
    assert (np.diff(trace.times_s) > 0).all()
    second = trace.times_s[(trace.times_s >= 60) & (trace.times_s < 120)]
    assert np.diff(second) == pytest.approx(60 / len(second))


def test_within_a_minute_the_order_is_random() -> None:
    """No model has its requests of a minute in a row."""
    trace = generate(np.random.default_rng(0), functions=300, minutes=5, requests_per_minute=400)
    repeated = (np.diff(trace.models) == 0).mean()
    assert repeated < 0.03


def test_neither_one_hit_wonders_nor_the_very_popular() -> None:
    counts = generate(np.random.default_rng(0)).counts
    assert counts.min() == 2
    assert counts.max() < 60
    assert counts.max() > 5 * np.median(counts)


def test_the_seed_decides() -> None:
    first, again, other = (generate(np.random.default_rng(seed), functions=200, minutes=3) for seed in (1, 1, 2))
    assert np.array_equal(first.models, again.models)
    assert not np.array_equal(first.models, other.models)


def test_popularity_drifts_where_asked() -> None:
    def kept(drift: float) -> float:
        trace = generate(np.random.default_rng(0), drift=drift)
        early, late = (
            np.bincount(trace.models[half], minlength=len(trace.counts))
            for half in (trace.times_s < 1800, trace.times_s >= 1800)
        )
        return float(np.corrcoef(early, late)[0, 1])

    assert kept(0.0) > 0.6
    assert kept(0.2) < 0.4


@pytest.mark.parametrize(
    ("how", "low", "high"), [("quantiles", 0.7, 1), ("uniform", -0.1, 0.1), ("quantiles-r", -1, -0.7)]
)
def test_popularity_goes_with_load_cost_as_asked(how: Correlation, low: float, high: float) -> None:
    rng = np.random.default_rng(0)
    counts = generate(rng).counts
    networks = associate(rng, counts, LOAD_S, how)
    assert low <= correlation_of(counts, LOAD_S[networks]) <= high


@given(
    counts=st.lists(st.integers(2, 50), min_size=1, max_size=60),
    load_s=st.lists(st.floats(0.01, 10), min_size=1, max_size=9),
    how=st.sampled_from(CORRELATIONS),
)
def test_every_model_is_some_network(counts: list[int], load_s: list[float], how: Correlation) -> None:
    networks = associate(np.random.default_rng(0), np.array(counts), np.array(load_s), how)
    assert len(networks) == len(counts)
    assert set(networks.tolist()) <= set(range(len(load_s)))
    most_popular = load_s[networks[int(np.argmax(counts))]]
    if how == "quantiles":
        assert most_popular == max(load_s)
