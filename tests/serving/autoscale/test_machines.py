"""When offline work yields, and workers by their lag."""

from __future__ import annotations

import pytest

from serving.autoscale.machines import AutoscaleTerms, offline_may_run, wanted_workers

TERMS = AutoscaleTerms()


@pytest.mark.parametrize(
    ("busy", "lag", "partitions", "workers"),
    [
        ([0.5], 0, 12, 1),
        ([0.5], 2500, 12, 3),
        ([0.5], 2500, 2, 2),
        ([0.9, 0.85], 0, 12, 3),
        ([0.1, 0.1], 0, 12, 1),
        ([0.1, 0.1], 1500, 12, 2),
        ([], 0, 12, 1),
    ],
)
def test_workers_follow_their_lag(busy: list[float], lag: int, partitions: int, workers: int) -> None:
    assert wanted_workers(busy, lag, 1000, partitions, TERMS) == workers


def test_offline_work_yields() -> None:
    assert offline_may_run(0.39, TERMS)
    assert not offline_may_run(0.4, TERMS)
