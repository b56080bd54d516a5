"""How the number of cameras is found, when cameras count as held, and what a row says."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.figure import Figure

from benchmarks import capacity
from benchmarks.capacity import Case
from benchmarks.capacity_parts import probe as probe_part
from benchmarks.capacity_parts.cameras import Cameras
from benchmarks.capacity_parts.probe import Held
from benchmarks.capacity_parts.results import Answer, FileResults, Latencies
from benchmarks.capacity_parts.search import fewer, largest
from benchmarks.capacity_parts.usage import memory_mb, processor_s
from tests.real.require import unavailable
from tests.real.rtsp import HOW, why_missing

MOST = 128
CASE = Case((768, 432), "motion", "run")


@given(truth=st.integers(0, MOST), guess=st.integers(1, MOST))
def test_what_is_found_holds_and_little_more_does_not(truth: int, guess: int) -> None:
    tried: list[int] = []

    def holds(number: int) -> bool:
        tried.append(number)
        return number <= truth

    found = largest(holds, guess, MOST)
    assert found <= truth <= found + max(1, found // 8)
    assert found in (0, *tried)
    assert len(tried) == len(set(tried)) <= 18
    assert all(1 <= each <= MOST for each in tried)


def test_fewer_is_less_down_to_none() -> None:
    assert [fewer(number) for number in (1, 2, 16, 40)] == [0, 1, 14, 35]


def answers(count: int, latency_ms: float = 20.0) -> list[Answer]:
    return [Answer("camera-0", 1.0 + number / 5, latency_ms) for number in range(count)]


@pytest.mark.parametrize(
    ("found", "fault"),
    [
        (answers(100), None),
        ([*answers(99), *answers(1, 800)], None),
        ([*answers(97), *answers(3, 800)], "99th percentile 800.0 ms"),
        ([*answers(99), Answer("camera-1", 3.0, None, "late")], "frames lost: late 1"),
        (answers(90), "90 frames of 100"),
        ([], "99th percentile inf ms"),
    ],
)
def test_cameras_are_held_where_all_frames_come_in_time(found: list[Answer], fault: str | None) -> None:
    assert Latencies.of(found).fault(count=2, seconds=10.0) == fault


def line(outcome: str, latency_ms: float) -> bytes:
    frame = {"captured_at": "2026-01-01T00:00:10Z"}
    result = {"stream": "a", "outcome": outcome, "cause": None, "frame": frame, "plan": {"latency_ms": latency_ms}}
    return json.dumps(result).encode() + b"\n"


def test_results_are_read_while_they_are_written(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    results, whole = FileResults(path), line("analysed", 12.5)
    with path.open("ab", 0) as file:
        file.write(whole + whole[:20])
        assert [each.latency_ms for each in results.fresh()] == [12.5]
        assert list(results.fresh()) == []
        file.write(whole[20:] + line("dropped", 3.0))
        assert [(each.stream, each.latency_ms) for each in results.fresh()] == [("a", 12.5), ("a", None)]
    results.close()


def test_processes_that_are_gone_take_nothing() -> None:
    me = psutil.Process().pid
    assert processor_s([me]) > 0
    assert memory_mb([me]) > 10
    assert (processor_s([2**22 + 1]), memory_mb([2**22 + 1])) == (0, 0)


class Silence:
    """Results of cameras that never come."""

    def fresh(self) -> Iterator[Answer]:
        return iter(())

    def close(self) -> None:
        """Nothing is open."""


def test_cameras_that_do_not_come_are_not_held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probe_part, "START_S", 0.2)
    query = Cameras(["rtsp://127.0.0.1/a", "rtsp://127.0.0.1/b"], 1.0).query(3, {"model": "motion"})
    assert [stream["uri"][-1] for stream in query["streams"]] == ["a", "b", "a"]
    found = probe_part.probe(tmp_path, query, lambda stack, folder, file: probe_part.Running([], Silence()), 1.0)
    assert str(found.fault).startswith("0 of 3 cameras came")
    assert capacity._row(CASE, Cameras([], 1.0), found, 1.0)["cameras"] == 0


def held(cameras: int, fault: str | None = None) -> Held:
    return Held(cameras, fault, Latencies(20.0, 90.0, 1000, {}), cpu_ms=8.0, cores=1.6, memory_mb=900.0, start_s=4.0)


class Cores:
    """Enough for some cameras for a moment, and for fewer in the long run."""

    def __init__(self, at_first: int, in_the_end: int) -> None:
        self.at_first, self.in_the_end = at_first, in_the_end
        self.long: list[int] = []

    def __call__(self, seconds: float, count: int) -> Held:
        if seconds > capacity.PROBE_S:
            self.long.append(count)
        enough = self.at_first if seconds <= capacity.PROBE_S else self.in_the_end
        return held(count, None if count <= enough else "frames lost")


@pytest.mark.parametrize(("cores", "found"), [(Cores(40, 40), 40), (Cores(40, 34), 31), (Cores(0, 0), 0)])
def test_what_holds_for_a_moment_is_held_for_long_or_fewer_are(cores: Cores, found: int) -> None:
    most = capacity._most(cores, 40, 600.0)
    assert (most.cameras if most.fault is None else 0) == found
    assert cores.long[0] == max(1, cores.at_first)


def row(case: Case = CASE, **changed: Any) -> Mapping[str, Any]:
    seen = Cameras(["rtsp://127.0.0.1/camera"], decode_ms=2.0)
    return capacity._row(case, seen, held(40), 600.0) | changed


def test_a_row_says_what_decoding_takes_and_the_headline_what_the_goal_is() -> None:
    assert (row()["cameras"], row()["decode_share"], row()["share"]) == (40, 0.25, 0.8)
    assert row()["memory_mb_per_camera"] == 22.5
    kafka = row(Case((768, 432), "motion", "kafka://"))
    assert [each["goal"] for each in capacity.headline([row(), kafka]).values()] == [40, None]
    capacity._draw([row(), kafka], Figure())


def test_rows_that_are_there_are_not_measured_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(capacity, "PARTIAL", tmp_path / "rows.jsonl")
    assert capacity._kept(10.0) == []
    capacity._keep(row())
    assert capacity._kept(10.0) == [row()]
    assert capacity._kept(2.0) == []
    assert capacity._found(capacity._kept(10.0), CASE)
    assert not capacity._found(capacity._kept(10.0), Case((768, 432), "motion", "kafka://"))


@pytest.mark.rtsp
@pytest.mark.usefixtures("data_dir")
def test_two_cameras_are_probed() -> None:
    if missing := why_missing():
        unavailable("GStreamer's RTSP server", missing, HOW)
    (found,) = capacity.measure(quick=True).rows
    assert (found["transport"], found["detector"], found["width"]) == ("run", "motion", 768)
    assert found["p50_ms"] > 0
    assert found["cpu_ms"] > found["decode_ms"] > 0
    assert found["memory_mb"] > 100
