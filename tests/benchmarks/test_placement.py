"""The parts of the placement benchmark: the replay by hand, the batch-oblivious allocator, the headline."""

from __future__ import annotations

import pytest

from benchmarks.placement import EMPTY, OBLIVIOUS, OURS, PREFIX, headline
from benchmarks.placement_parts.allocators import oblivious, ours
from benchmarks.placement_parts.epochs import LOADS, epochs
from benchmarks.placement_parts.replay import Line, replay
from benchmarks.placement_parts.throughput import Runtime, most_load, served
from benchmarks.placement_parts.workloads import KIND, ONE_MS, games, profile, scenarios, zipf
from serving.placement.demands import BatchProfile

FLAT = BatchProfile({1: 1.0, 4: 1.0}, 1)
"""A second for any batch."""


def test_a_replay_by_hand() -> None:
    """a runs from 0 to 1, b from 1 to 2, both of a's that came meanwhile from 2 to 3: one within 2 s, one not."""
    lines = {("a", 2.0): Line.of(FLAT), ("b", 4.0): Line.of(FLAT)}
    replay(lines, {("a", 2.0): [0.0, 0.5, 1.5], ("b", 4.0): [0.1]})
    assert {key: (line.served, line.beyond) for key, line in lines.items()} == {
        ("a", 2.0): (2, 1),
        ("b", 4.0): (1, 0),
    }


def test_profiles_have_the_figures_of_the_paper() -> None:
    inception = profile(*ONE_MS["inception"]).latency_s
    assert inception[1] == pytest.approx(0.007)
    assert 64 / inception[64] == pytest.approx(1300, rel=0.01)
    assert sum(zipf(16)) == pytest.approx(1)


def test_batch_oblivious_shares_fill_all_backends() -> None:
    for scenario in scenarios():
        plan, factor = oblivious(scenario)
        assert len(plan.backends) == 8
        rate = sum(share.items_per_s for each in plan.backends for share in each.sessions)
        assert rate == pytest.approx(factor * sum(each.items_per_s for each in scenario.demands))


def test_a_plan_of_ours_serves_all_that_it_was_made_for() -> None:
    scenario = scenarios()[1]
    plan, factor = ours(scenario)
    total, beyond = served(plan, scenario.profiles, Runtime("even", seconds=1.0))
    assert beyond == 0
    assert total == pytest.approx(factor, rel=0.01)
    assert most_load(plan, scenario.profiles, Runtime("even", seconds=1.0)) >= 0.98


def test_games_of_one_prefix_are_one_session() -> None:
    assert len(games(prefix=True).profiles["games"][KIND].latency_s) > 1
    plan, _ = ours(games(prefix=True))
    assert {share.model for each in plan.backends for share in each.sessions} == {"lenet", "games"}


def test_cameras_that_ask_for_the_same_move_nothing() -> None:
    found = epochs(LOADS["equal"], 2)
    assert (found.loads, found.backends) == (0, found.anew)


def test_headline() -> None:
    row = {**EMPTY, "part": "throughput", "batches": "look ahead", "arrivals": "even", "beyond_slo": 0}
    rows = [
        {**row, "case": "x", "way": OURS, "items_per_s": 110, "gain_percent": 10.0},
        {**row, "case": "games", "way": OURS, "items_per_s": 120, "gain_percent": 20.0},
        {**row, "case": "games", "way": OBLIVIOUS, "items_per_s": 100, "gain_percent": 0.0, "beyond_slo": ""},
        {**row, "case": "games", "way": PREFIX, "items_per_s": 150, "gain_percent": 50.0},
        {**EMPTY, "part": "epochs", "case": "equal", "loads_per_epoch": 0},
        {**EMPTY, "part": "10,000 cameras", "seconds": 0.2},
        {**EMPTY, "part": "2,000 sessions, 20 backends", "seconds": 9.0},
        {**EMPTY, "part": "exact", "instances": 10, "as_few_as_exact": 9},
    ]
    assert headline(rows) == {
        "gain_worst": 10.0,
        "gain_best": 10.0,
        "gains": {"look ahead, even": [10.0, 10.0]},
        "games_gain": 20.0,
        "games_prefix_gain": 25.0,
        "beyond_slo": 0,
        "loads_per_epoch": {"equal": 0},
        "as_few_as_exact": [0.9],
        "seconds_10000_cameras": 0.2,
        "seconds_2000_sessions": 9.0,
    }
