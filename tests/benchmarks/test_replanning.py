"""The simulation of replanning, and the splits of an SLO, against the claims that are made of them."""

from __future__ import annotations

import pytest

from benchmarks import replanning, replanning_real, split
from benchmarks.replanning_parts.frames import Seen


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


def seen(objects: int) -> Seen:
    """A frame on which each detector is half as dear as the one before, and each recogniser a tenth."""
    detectors, recognisers = replanning_real.DETECTORS, replanning_real.RECOGNISERS
    detected_s = {name: 0.04 / 2**place for place, name in enumerate(detectors)}
    pairs = [(d, r) for d in detectors for r in recognisers]
    recognised_s = {pair: 0.01 * objects / 10 ** recognisers.index(pair[1]) for pair in pairs}
    accuracy = {pair: 1 - place / 10 for place, pair in enumerate(pairs)}
    return Seen(detected_s, dict.fromkeys(detectors, objects), recognised_s, accuracy)


def test_frames_with_few_objects_get_the_better_recogniser_of_our_own_networks() -> None:
    frames = [seen(1 + place % 8) for place in range(48)]
    rows = replanning_real.rows_of(frames)
    assert len(rows) == replanning_real.SLOS
    assert all(row["accuracy_gain"] >= 0 for row in rows)
    assert max(row["accuracy_gain"] for row in rows) > 0.02
    assert rows[-1]["accuracy_static"] == rows[-1]["accuracy_replanned"] == 1.0
    assert all(row["late_share_replanned"] == 0 for row in rows[1:])
