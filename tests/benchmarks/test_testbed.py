"""Requests for networks that are asked by several functions each."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from benchmarks.eviction_parts.measured import Measured
from benchmarks.testbed import ASSOCIATIONS, REQUESTS, Association, Timed, _networks, _rows

NETWORKS = [Timed(Measured(f"n{number}", 1, 1 << 20, 0.1 * (number + 1)), 0.05) for number in range(4)]


def test_round_robin_gives_each_network_as_many_functions() -> None:
    found = _networks(np.random.default_rng(0), np.arange(2, 102), np.array([0.1, 0.4, 0.2, 0.3]), "round-robin")
    assert Counter(found.tolist()) == dict.fromkeys(range(4), 25)
    assert found[:4].tolist() == [1, 3, 2, 0]


@pytest.mark.parametrize("how", ASSOCIATIONS)
def test_less_memory_loads_more_and_all_of_it_loads_each_network_once(how: Association) -> None:
    rows = [row for row in _rows(NETWORKS, how) if row["policy"] == "default"]
    by_share = {row["memory_share"]: row for row in rows}
    assert by_share[0.5]["misses"] >= by_share[0.75]["misses"] >= by_share[1.0]["misses"]
    assert by_share[1.0]["misses"] == pytest.approx(len(NETWORKS) / REQUESTS, abs=2e-3)
    assert by_share[0.5]["load_over_run"] == pytest.approx(by_share[0.5]["load_ms"] / 50, rel=0.01)
