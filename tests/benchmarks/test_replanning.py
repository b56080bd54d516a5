"""The simulation of replanning, and the splits of an SLO, against the claims that are made of them."""

from __future__ import annotations

import pytest

from benchmarks import replanning, replanning_real, split
from benchmarks.replanning_parts.frames import Seen
from benchmarks.replanning_parts.plan import Split

FRAMES = replanning.drawn_frames(1000)


@pytest.mark.parametrize("slo_ms", [60, 70, 80])
@pytest.mark.parametrize("split_", replanning.SPLITS)
def test_the_worker_gives_what_detection_saved_to_every_frame_in_which_it_buys_something(
    split_: Split, slo_ms: int
) -> None:
    row = replanning.row(split_, slo_ms, FRAMES, FRAMES)
    assert row["accuracy_worker"] >= row["accuracy_static"]
    assert row["late_worker"] == 0
    for node in replanning.SHARES:
        assert row[f"worker_better_{node}"] == pytest.approx(row[f"fits_{node}"], abs=0.003)


def test_the_example_of_80_ms() -> None:
    row = replanning.row("equal", 80, FRAMES, replanning.busy(FRAMES))
    assert row["accuracy_static"] == pytest.approx(0.911 * (0.46 * 0.976 + 0.45 * 0.918 + 0.09), abs=0.005)
    assert row["worker_better_faces"] == pytest.approx(0.80, abs=0.03)
    assert row["worker_better_vehicles"] == pytest.approx(0.92, abs=0.03)
    assert row["late_busy_worker"] < 0.03 < row["late_busy_paper"]


def test_a_gain_is_told_with_the_times_of_its_own_row() -> None:
    row = {f"late_busy_{way}": 0.1 for way in replanning.WAYS}
    row |= {"late_static": 0.0, "late_worker": 0.0, "executor_us_per_node": 20.0, "mean_ms_worker": 50.0}
    row |= {f"{what}_{node}": 0.8 for node in replanning.SHARES for what in ("fits", "worker_better")}
    accuracies = {70: (0.85, 0.86, 40.0), 80: (0.86, 0.865, 60.0), 200: (0.8, 0.9, 90.0)}
    rows = [
        {**row, "split": split_, "slo_ms": slo_ms, "accuracy_static": a, "accuracy_worker": b, "mean_ms_static": ms}
        for split_ in replanning.SPLITS
        for slo_ms, (a, b, ms) in accuracies.items()
    ]
    found = replanning.headline(rows)
    assert found["equal"] == {"slo_ms": 70, "accuracy_gain": 0.01, "latency_ratio": 0.8}
    assert found["at_80_ms"]["worker_better_faces"] == 0.8


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
    best = replanning_real.headline(rows)["best"]
    assert best in [{key: row[key] for key in best} for row in rows]
