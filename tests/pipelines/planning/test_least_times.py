from __future__ import annotations

import pytest

from pipelines.planning.node_times import FORGETTING, Downstream


def test_nothing_is_known_at_first() -> None:
    assert Downstream([["detect"], ["type"]]).after("detect") == 0.0


def test_the_nodes_behind_count_and_no_others() -> None:
    downstream = Downstream([["detect"], ["track"], ["type"]])
    downstream.observe({"decode": 50.0, "detect": 20.0, "track": 1.0, "type": 8.0, "framework": 3.0})
    assert downstream.after("detect") == pytest.approx(0.009)
    assert downstream.after("track") == pytest.approx(0.008)
    assert downstream.after("type") == 0.0


def test_the_least_time_counts_but_is_forgotten() -> None:
    downstream = Downstream([["detect"], ["type"]])
    downstream.observe({"type": 1.0})
    downstream.observe({"type": 100.0})
    assert downstream.after("detect") == pytest.approx(0.001 * FORGETTING)
    for _ in range(200):
        downstream.observe({"type": 100.0})
    assert downstream.after("detect") == pytest.approx(0.100)


def test_of_nodes_that_run_at_the_same_time_the_slowest_counts() -> None:
    downstream = Downstream([["detect"], ["type", "colour"], ["plate"]])
    downstream.observe({"detect": 50.0, "type": 20.0, "colour": 30.0, "plate": 5.0})
    assert downstream.after("detect") == pytest.approx(0.035)
    assert downstream.after("type") == downstream.after("colour") == pytest.approx(0.005)
