from __future__ import annotations

import pytest

from benchmarks.segments import evenly

SHARES = {"a": 0.1, "b": 0.24, "c": 0.26, "d": 0.5, "e": 0.9}


@pytest.mark.parametrize(
    ("count", "chosen"), [(1, ["d"]), (2, ["c", "d"]), (3, ["b", "d", "e"]), (5, ["a", "b", "c", "d", "e"])]
)
def test_cut_points_part_the_latency_evenly(count: int, chosen: list[str]) -> None:
    assert evenly(SHARES, count) == chosen
