from __future__ import annotations

import pytest

from benchmarks.segments import evenly, headline

SHARES = {"a": 0.1, "b": 0.24, "c": 0.26, "d": 0.5, "e": 0.9}


@pytest.mark.parametrize(
    ("count", "chosen"), [(1, ["d"]), (2, ["c", "d"]), (3, ["b", "d", "e"]), (5, ["a", "b", "c", "d", "e"])]
)
def test_cut_points_part_the_latency_evenly(count: int, chosen: list[str]) -> None:
    assert evenly(SHARES, count) == chosen


def test_the_headline_tells_clocks_and_large_networks_apart() -> None:
    rows = [
        {
            "threads": 1,
            "cut_points": cuts,
            "whole_ms": ms,
            "processor_overhead": cuts / 100,
            "elapsed_overhead": ms / 10,
        }
        for cuts in (1, 4, 7)
        for ms in (1.0, 10.0)
    ]
    found = headline(rows)
    assert found["processor_1"] == {"median": 0.025, "worst": 0.04, "median_of_large": 0.025}
    assert found["elapsed_1"] == {"median": 0.55, "worst": 1.0, "median_of_large": 1.0}
