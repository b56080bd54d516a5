"""The simulation behind the batching benchmark, and what it must show."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks.batching import (
    BATCH,
    CAPACITY_PER_S,
    MIXED_S,
    OURS,
    POLICIES,
    SLO_S,
    WORKLOADS,
    Workload,
    headline,
    latency,
    row,
    serve,
)
from benchmarks.batching_parts.baselines import EarliestFirst, SlidingWindow
from benchmarks.batching_parts.simulation import Ask, Run, simulate


def asks_of(load: float, seed: int, duration_s: float = 8.0) -> list[Ask]:
    return Workload("poisson").asks(load, duration_s, seed)


def due(slo_s: float, *times: float) -> list[Ask]:
    return [Ask(at, at + slo_s) for at in times]


def test_a_simulation_by_hand() -> None:
    # 1 s and 1 s per item. The first runs alone until 2; of those that came meanwhile a batch of two ends at 5.
    told: list[tuple[float, float]] = []
    run = simulate(
        SlidingWindow(2), due(4.5, 0.0, 0.5, 1.0, 1.5), lambda b: 1.0 + b, 8, lambda at, has: told.append((at, has))
    )
    assert run.batches == [1, 2]
    assert run.missed == pytest.approx(1 / 4)
    assert told == [(0.0, 4.5), (0.5, 4.5), (1.0, 4.5), (1.5, 4.5)]
    assert len(run.decisions_s) == 3


def test_idle_time_passes() -> None:
    run = simulate(EarliestFirst(), due(5.0, 0.0, 100.0), lambda b: 1.0 + b, 8)
    assert run.batches == [1, 1]
    assert run.missed == 0


def test_the_latency_has_the_thesis_two_values() -> None:
    assert latency(1) == pytest.approx(0.007)
    assert latency(BATCH) == pytest.approx(SLO_S / 2)
    assert BATCH / latency(BATCH) == pytest.approx(CAPACITY_PER_S)


@pytest.mark.parametrize("load", [0.95, 1.0, 1.1])
@pytest.mark.parametrize("seed", [11, 12])
def test_ours_misses_no_more_than_the_sliding_window_on_the_same_arrivals(load: float, seed: int) -> None:
    asks = asks_of(load, seed)
    # One more request in a thousand is the noise of a single workload.
    assert serve(OURS, asks).missed <= serve("sliding window", asks).missed + 0.001


@pytest.mark.parametrize("most_items", [1, 6])
@pytest.mark.parametrize("load", [0.85, 1.05])
def test_so_it_is_where_requests_of_one_session_have_different_deadlines(load: float, most_items: int) -> None:
    workload = Workload("poisson", MIXED_S, most_items)
    for seed in (11, 12):
        asks = workload.asks(load, 6.0, seed)
        ours, sliding = (serve(policy, asks, workload.window).missed for policy in (OURS, "sliding window"))
        assert ours <= sliding + 0.001


def test_requests_of_several_items_take_as_long_as_their_items() -> None:
    asks = [Ask(0.0, 3.9, items=3), Ask(0.5, 10.0, items=2)]
    run = simulate(EarliestFirst(), asks, lambda b: 1.0 + b, 8)
    assert run.missed == 1 / 2


def test_the_sliding_window_of_several_deadlines_is_that_of_the_shortest() -> None:
    assert Workload("poisson").window == BATCH
    window = Workload("poisson", MIXED_S).window
    assert latency(window) <= 0.03 < latency(window + 1)


def test_earliest_first_collapses_under_poisson_load() -> None:
    asks = asks_of(1.0, 11)
    earliest, ours = serve("earliest first", asks), serve(OURS, asks)
    assert earliest.missed > 0.3
    assert ours.missed < 0.05


def rows() -> list[dict[str, Any]]:
    missed = {"earliest first": 0.7, "sliding window": 0.02, "maximal window": 0.03, OURS: 0.01}
    runs = {
        policy: [Run(missed[policy], [10], [1e-4]), Run(missed[policy] + 0.02, [20], [3e-4])] for policy in POLICIES
    }
    return [
        row(workload, load, policy, runs[policy], runs["sliding window"])
        for workload in WORKLOADS
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
    assert found["lookahead_minus_sliding_worst"] == found["lookahead_minus_sliding_worst_mixed"] == -1.0
