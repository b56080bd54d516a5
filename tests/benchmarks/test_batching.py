"""The simulation behind the batching benchmark, and what it must show."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from benchmarks.batching import BATCH, CAPACITY_PER_S, OURS, POLICIES, SLO_S, headline, latency, row, serve
from benchmarks.batching_parts.simulation import Run, simulate
from datasets.request_times import poisson
from serving.scheduling.baselines import EarliestFirst, SlidingWindow


def times_of(load: float, seed: int, duration_s: float = 8.0) -> list[float]:
    return list(poisson(load * CAPACITY_PER_S, duration_s, np.random.default_rng(seed)))


def test_a_simulation_by_hand() -> None:
    # 1 s and 1 s per item. The first runs alone until 2; of those that came meanwhile a batch of two ends at 5.
    told: list[tuple[float, float]] = []
    run = simulate(
        SlidingWindow(2), [0.0, 0.5, 1.0, 1.5], 4.5, lambda b: 1.0 + b, 8, lambda at, time_s: told.append((at, time_s))
    )
    assert run.batches == [1, 2]
    assert run.missed == pytest.approx(1 / 4)
    assert told == [(0.0, 4.5), (0.5, 4.5), (1.0, 4.5), (1.5, 4.5)]
    assert len(run.decisions_s) == 3


def test_idle_time_passes() -> None:
    run = simulate(EarliestFirst(), [0.0, 100.0], 5.0, lambda b: 1.0 + b, 8)
    assert run.batches == [1, 1]
    assert run.missed == 0


def test_the_latency_has_the_thesis_two_values() -> None:
    assert latency(1) == pytest.approx(0.007)
    assert latency(BATCH) == pytest.approx(SLO_S / 2)
    assert BATCH / latency(BATCH) == pytest.approx(CAPACITY_PER_S)


@pytest.mark.parametrize("load", [0.95, 1.0, 1.1])
@pytest.mark.parametrize("seed", [11, 12])
def test_ours_misses_no_more_than_the_sliding_window_on_the_same_arrivals(load: float, seed: int) -> None:
    times = times_of(load, seed)
    # One more request in a thousand is the noise of a single workload.
    assert serve(OURS, times).missed <= serve("sliding window", times).missed + 0.001


def test_earliest_first_collapses_under_poisson_load() -> None:
    times = times_of(1.0, 11)
    earliest, ours = serve("earliest first", times), serve(OURS, times)
    assert earliest.missed > 0.3
    assert ours.missed < 0.05


def rows() -> list[dict[str, Any]]:
    missed = {"earliest first": 0.7, "sliding window": 0.02, "maximal window": 0.03, OURS: 0.01}
    runs = {
        policy: [Run(missed[policy], [10], [1e-4]), Run(missed[policy] + 0.02, [20], [3e-4])] for policy in POLICIES
    }
    return [
        row(arrivals, load, policy, runs[policy], runs["sliding window"])
        for arrivals in ("uniform", "poisson")
        for load in (1.0, 1.1)
        for policy in POLICIES
    ]


def test_rows_are_means_over_seeds() -> None:
    ours = rows()[3]
    assert (ours["policy"], ours["seeds"], ours["rate_per_s"]) == (OURS, 2, 1300.0)
    assert (ours["missed_percent"], ours["minus_sliding_points"]) == (2.0, -1.0)
    assert (ours["mean_batch"], ours["decision_us_p50"]) == (15.0, 200.0)


def test_the_headline_names_every_policy_at_capacity() -> None:
    found = headline(rows())
    assert set(found["miss_poisson"]) == set(found["miss_uniform"]) == set(POLICIES)
    assert found["miss_poisson"]["earliest first"] == 71.0
    assert found["lookahead_minus_sliding_worst"] == -1.0
