"""The arithmetic of the pipeline benchmark, and the clip it makes; no clock is asserted on."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import av
import pytest

from benchmarks.pipeline import BACKLOG, SETTLE, headline, latency_row, throughput_row
from benchmarks.pipeline_parts.cost import Cost, Marks, framework_share, middle
from benchmarks.pipeline_parts.runs import beyond_nodes_ms
from benchmarks.pipeline_parts.workload import ROOT, at_rate
from operators.wire.schema import FrameInfo, Outcome, Plan, Result


def marks(frames: int, wall_s: float, cpu_s: float, framework_s: float = math.nan, start_s: float = 5.0) -> Marks:
    """As if every frame cost the same, but for a slow start."""
    return Marks(
        [start_s + number * wall_s for number in range(frames)],
        [start_s + number * cpu_s for number in range(frames)],
        {number: start_s + number * framework_s for number in range(frames)},
    )


def test_cost_of_a_frame_between_two_frames() -> None:
    noted = Marks([0.0, 9.0, 10.0, 12.0, 50.0], [0.0, 4.0, 4.5, 5.0, 6.0])
    cost = noted.cost(1, 3)
    assert (cost.wall_s, cost.cpu_s) == (1.5, 0.5)
    assert math.isnan(cost.framework_s), "nobody kept account"
    assert cost.fps == pytest.approx(1 / 1.5)


def test_what_the_framework_took_between_two_frames() -> None:
    noted = Marks([0.0, 9.0, 10.0, 12.0], [0.0, 4.0, 4.5, 5.0], {1: 0.5, 3: 0.6})
    assert noted.cost(1, 3).framework_s == pytest.approx(0.05)


@pytest.mark.parametrize(("first", "last"), [(2, 2), (3, 2), (-1, 2), (0, 5)])
def test_frames_that_were_not_measured_have_no_cost(first: int, last: int) -> None:
    with pytest.raises(ValueError, match="of 5"):
        marks(5, 1.0, 1.0).cost(first, last)


def test_start_and_end_are_not_counted() -> None:
    assert middle(100) == (10, 89)
    assert middle(20) == (2, 17)


def test_share_is_of_all_processor_time() -> None:
    assert framework_share(Cost(1.0, 0.010, 0.001)) == pytest.approx(0.1)


def test_row_compares_the_same_frames() -> None:
    """Frames get dearer: eight streams of ten frames are beside ten frames of the floor, not beside eighty."""
    dearer = [float(number**2) for number in range(80)]
    floor = Marks(dearer, dearer)
    run = Marks([second / 8 for second in range(80)], [2 * dearer[number // 8] / 8 for number in range(80)])
    row = throughput_row("run", 8, 10, 0, run, floor)
    assert row["cpu_ms_floor"] == pytest.approx((64 - 1) / 7 * 1000, abs=1e-3)
    assert row["cpu_ms"] == pytest.approx(2 * (64 - 1) / 7 / 8 / 8 * 1000, abs=1e-3)
    assert row["fps"] == 8.0


def test_latency_counts_settled_frames_and_dropped_ones() -> None:
    row = latency_row("run", 1, [1000.0] * SETTLE + [2.0] * 99 + [math.nan])
    assert (row["round"], row["p50_ms"], row["p99_ms"], row["dropped"]) == (1, 2.0, 2.0, 1)


def test_headline_is_the_worse_case_by_medians() -> None:
    rows = [
        throughput_row(transport, streams, 20, number, marks(20 * streams, 0.01, 0.01, own_s), marks(20, 0.02, 0.009))
        for transport in ("run", "kafka://")
        for streams, own_s in ((1, 0.003), (8, 0.002))
        for number, own_s in enumerate((own_s, own_s, own_s * 2))
    ]
    rows += [
        latency_row(transport, number, [p99_ms] * 200)
        for transport in ("run", "kafka://")
        for number, p99_ms in enumerate((4.0, 3.0, 90.0))
    ]
    assert all(row.keys() == rows[0].keys() for row in rows)
    assert {row["load"] for row in rows} == {BACKLOG, "25 frames/s"}
    found = headline(rows)
    assert found["kafka://"] == found["run"]
    assert found["run"] == {
        "streams": 1, "framework_share": 0.3, "framework_ms": 3.0, "fps": 100.0, "fps_floor": 50.0, "cpu_ms": 10.0,
        "cpu_ms_floor": 9.0, "framework_share_quartiles": [0.3, 0.45], "p99_ms": 4.0,
    }  # fmt: skip


def result(outcome: Outcome, **more: Any) -> Result:
    info = FrameInfo(width=8, height=8, media_time_s=0.0, captured_at=datetime.fromtimestamp(100.0, UTC))
    stages_ms = {"capture": 1.0, "queue": 2.0, "decode": 3.0, "detect": 10.0, "type": 20.0, "framework": 4.0}
    plan = Plan(slo_ms=250.0, deadline_met=True, stages_ms=stages_ms)
    return Result(stream="a", run="r", seq=7, query="q", frame=info, outcome=outcome, plan=plan, **more)


def test_nodes_are_taken_off_the_latency_and_nothing_else() -> None:
    assert beyond_nodes_ms(result("analysed"), now_s=100.05) == pytest.approx(20.0)
    assert math.isnan(beyond_nodes_ms(result("dropped", cause="late"), now_s=100.05))
    with pytest.raises(RuntimeError, match="frame 7 failed: type: boom"):
        beyond_nodes_ms(result("failed", cause="type: boom"), now_s=100.05)


def test_clip_at_another_rate_has_the_same_frames(tmp_path: Path) -> None:
    source = ROOT / "examples" / "street.mp4"
    faster = at_rate(source, 25, tmp_path / "faster.mp4")
    with av.open(str(source)) as before, av.open(str(faster)) as after:
        assert float(after.streams.video[0].average_rate or 0) == pytest.approx(25, abs=0.01)
        assert after.streams.video[0].frames == before.streams.video[0].frames
        stamps = [float(frame.time or 0.0) for frame in after.decode(video=0)]
    assert stamps == pytest.approx([number / 25 for number in range(len(stamps))], abs=1e-3)
