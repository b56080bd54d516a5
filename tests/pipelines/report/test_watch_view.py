from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Literal

from msgspec.structs import replace

from operators.wire.schema import FrameInfo, Plan, Result
from pipelines.report.watch_view import FIRST_SUMMARY_S, HELD_S, MAX_RUNS, SUMMARY_S, ColouredLine, WatchView

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)


def result(seq: int, outcome: Literal["analysed", "dropped", "failed"] = "dropped", stream: str = "gate") -> Result:
    return Result(
        stream=stream, run="run", seq=seq, query="q", outcome=outcome, cause=None if outcome == "analysed" else "late",
        frame=FrameInfo(width=1, height=1, media_time_s=0.0, captured_at=NOW), plan=Plan(slo_ms=1, deadline_met=True),
    )  # fmt: skip


def texts(lines: Iterable[ColouredLine]) -> list[str]:
    return [line.text for line in lines]


def test_frames_dropped_one_after_the_other_are_one_line() -> None:
    view = WatchView(0.0)
    assert [line for seq in range(30) for line in view.add(result(seq), 0.1)] == []
    dropped, analysed = view.add(result(30, "analysed"), 0.2)
    assert dropped.text.endswith("dropped   30 frames dropped (late), from seq 0 on")
    assert dropped.colour == "yellow"
    assert "analysed" in analysed.text


def test_one_dropped_frame_has_its_own_line() -> None:
    view = WatchView(0.0)
    assert texts(view.add(result(5), 0.0)) == []
    [line] = texts(view.flush(0.0, all_=True))
    assert line.split()[2:] == ["5", "0", "ms", "dropped", "late"]


def test_dropped_frames_of_a_stream_that_gives_nothing_else_come_after_a_while() -> None:
    view = WatchView(0.0)
    for seq in range(9):
        assert texts(view.add(result(seq), seq / 10)) == []
    assert texts(view.flush(HELD_S / 2)) == []
    [line] = texts(view.flush(HELD_S))
    assert "9 frames dropped" in line
    assert texts(view.flush(2 * HELD_S)) == []


def test_streams_do_not_interrupt_each_other() -> None:
    view = WatchView(0.0)
    lines = [line for seq in range(20) for line in view.add(result(seq, stream=f"s{seq % 2}"), 0.0)]
    assert lines == []
    assert ["10 frames dropped" in line for line in texts(view.flush(0.0, all_=True))] == [True, True]


def test_queries_on_a_stream_do_not_interrupt_each_other_and_are_told_apart() -> None:
    view = WatchView(0.0)
    lines = [line for seq in range(20) for q in "qr" for line in view.add(replace(result(seq), query=q), 0.0)]
    assert lines == []
    one, other = texts(view.flush(0.0, all_=True))
    assert ("  gate   " in one, "  gate · r   " in other) == (True, True)
    assert all("20 frames dropped" in line for line in (one, other))


def test_what_waits_is_bounded() -> None:
    view = WatchView(0.0)
    lines = [line for number in range(2 * MAX_RUNS) for line in view.add(result(0, stream=f"s{number}"), 0.0)]
    assert len(lines) == MAX_RUNS


def test_a_summary_comes_soon_and_then_each_minute() -> None:
    view = WatchView(0.0)
    for seq in range(10):
        list(view.add(result(seq, "dropped" if seq % 5 else "analysed"), 1.0))
    later = NOW + timedelta(seconds=1.5)
    assert view.summary(FIRST_SUMMARY_S - 1, later, 0) is None
    line = view.summary(FIRST_SUMMARY_S, later, 7)
    assert line is not None
    assert line.text == (
        "── last 10 s: 2 frames analysed, 8 dropped (80%: late 8); the newest frame is 1.5 s old; "
        "7 results wait to be shown"
    )
    assert view.summary(FIRST_SUMMARY_S + SUMMARY_S, later, 0) is None, "nothing came"
    list(view.add(result(11, "analysed"), 80.0))
    assert view.summary(FIRST_SUMMARY_S + SUMMARY_S + 1, later, 0) is None
    line = view.summary(FIRST_SUMMARY_S + 2 * SUMMARY_S, NOW - timedelta(seconds=9), 0)
    assert line is not None
    assert line.text == "── last 60 s: 1 frames analysed, 0 dropped; the clock of capture runs ahead"
