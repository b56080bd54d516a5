"""What is learnt from the tail of the results topic."""

from __future__ import annotations

from datetime import UTC, datetime

import msgspec

from operators.schema import FrameHeader, FrameInfo, Plan, Result, to_json
from pipelines.resume import RECENT_RESULTS, Tail

NOW = datetime(2024, 5, 1, tzinfo=UTC)


def result(seq: int, stream: str = "camera", query: str = "vehicles") -> Result:
    info = FrameInfo(width=64, height=48, media_time_s=0.0, captured_at=NOW)
    plan = Plan(slo_ms=100, deadline_met=True)
    return Result(stream=stream, run="run", seq=seq, query=query, frame=info, outcome="analysed", plan=plan)


def header(seq: int, stream: str = "camera", run: str = "run") -> FrameHeader:
    return FrameHeader(
        stream=stream, run=run, seq=seq, width=64, height=48, media_time_s=0.0, captured_at=NOW, encoding="jpeg"
    )


def test_a_frame_with_a_result_is_known_once() -> None:
    tail = Tail("vehicles")
    tail.add(to_json(result(3)))
    assert tail.answered(header(3))
    assert not tail.answered(header(3)), "a frame comes once"
    assert not tail.answered(header(4))


def test_another_run_or_stream_is_another_frame() -> None:
    tail = Tail("vehicles")
    tail.add(to_json(result(3)))
    assert not tail.answered(header(3, run="other"))
    assert not tail.answered(header(3, stream="other"))


def test_results_of_another_query_do_not_answer() -> None:
    tail = Tail("vehicles")
    tail.add(to_json(result(3, query="people")))
    assert not tail.answered(header(3))


def test_what_is_no_result_is_passed_over() -> None:
    tail = Tail("vehicles")
    for value in (None, b"", b"{", b"[1]", b'{"query": "vehicles"}'):
        tail.add(value)
    assert not len(tail)


def test_the_last_results_of_a_stream_are_given_once_in_order() -> None:
    tail = Tail("vehicles")
    for seq in range(RECENT_RESULTS + 10):
        tail.add(to_json(result(seq)))
    tail.add(to_json(result(0, stream="other")))
    assert [found.seq for found in tail.recent("camera")] == list(range(10, RECENT_RESULTS + 10))
    assert tail.recent("camera") == []
    assert tail.recent("other") == [result(0, stream="other")]


def test_results_of_a_later_minor_version_are_understood() -> None:
    tail = Tail("vehicles")
    tail.add(msgspec.json.encode({**msgspec.to_builtins(result(3)), "added_later": 1}))
    assert tail.answered(header(3))
