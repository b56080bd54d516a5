"""The simulation of replanning, and the splits of an SLO, against the claims that are made of them."""

from __future__ import annotations

import pytest

from benchmarks import replanning, split


def test_replanning_is_more_accurate_and_faster_and_never_later() -> None:
    rows = [replanning._row(policy, slo_ms, 500) for policy in replanning.SPLITS for slo_ms in (80, 100)]
    assert all(row["accuracy_gain"] >= 0 for row in rows)
    assert max(row["accuracy_gain"] for row in rows) > 0.003
    assert all(row["late_share"] <= row["late_share_static"] for row in rows)


def test_the_example_of_80_ms() -> None:
    row = replanning._row("equal", 80, 1000)
    assert row["accuracy_static"] == pytest.approx(0.911 * (0.46 * 0.976 + 0.45 * 0.918 + 0.09), abs=0.005)
    assert row["better_faces"] == pytest.approx(0.80, abs=0.05)
    assert row["better_vehicles"] == pytest.approx(0.92, abs=0.05)


def test_the_best_split_is_never_worse_than_the_even_one() -> None:
    rows = split.measure(True).rows
    assert all(row["throughput_over_even"] >= 1 for row in rows)
    assert len(rows) == 2 * len(split.ALPHAS) * len(split.SLOS_MS)
    for row in rows:
        assert row["ssd_ms"] + row["inception_ms"] == pytest.approx(row["slo_ms"], abs=0.2)
