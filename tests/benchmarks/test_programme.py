"""Fleets that are drawn for the integer programme of autoscaling."""

from __future__ import annotations

import pytest

from benchmarks.programme import WAYS, fleet


@pytest.mark.parametrize("way", WAYS)
def test_free_machines_serve_all_and_half_of_them_do_not(way: str) -> None:
    free, short = fleet(10, "free", 1), fleet(10, "short", 1)
    assert len(free.candidates) == len(short.candidates) > 50
    assert free.unserved(WAYS[way](free).counts) == 0
    assert short.unserved(WAYS[way](short).counts) > 0


def test_the_programme_is_never_dearer_than_the_heuristic() -> None:
    for seed in range(3):
        given = fleet(10, "free", seed)
        price = {way: given.objective(work(given).counts) for way, work in WAYS.items()}
        assert price["programme"] <= price["heuristic"] * (1 + 1e-3)
