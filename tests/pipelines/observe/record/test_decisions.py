"""Which frames are kept, and how many are held for that."""

from __future__ import annotations

from itertools import count

import numpy as np
import pytest

from operators.testing import make_frame
from pipelines.observe.record.layout import MOST_FRAMES, MOST_HELD
from pipelines.observe.record.window import AFTER_S, ALLOWANCE_S, SHARE, Preroll, Shot, Window, affordable
from tests.operators.publish.messages import result


def shot(seq: int, stream: str = "cam", run: str = "r1", size: int = 10, fps: float = 10) -> Shot:
    image = np.zeros((1, size, 3), np.uint8)
    return Shot(make_frame(seq, seq / fps, image, stream, run), result(seq, stream=stream, run=run))


def test_frames_are_kept_for_a_while_after_each_event_and_then_no_more() -> None:
    window = Window("r1", count(1))
    assert window.episode_of(0.0) is None
    assert window.wanted(1.0, held=3) == 1
    assert window.wanted(2.0, held=0) == 1
    assert [window.episode_of(at_s) for at_s in (2.1, 2.0 + AFTER_S)] == [1, 1]
    assert window.episode_of(2.1 + AFTER_S) is None
    assert window.wanted(0.5, held=0) == 2  # late news of an earlier moment counts from that moment
    assert window.episode_of(0.6 + AFTER_S) is None


def test_an_episode_that_goes_on_and_on_goes_on_in_another_one() -> None:
    window = Window("r1", count(1))
    window.wanted(0.0, held=100)
    numbers = [window.episode_of(0.01) for _ in range(2 * MOST_FRAMES)]
    assert numbers.count(1) == MOST_FRAMES - 100
    assert numbers.count(2) == MOST_FRAMES
    assert numbers == sorted(numbers, key=lambda each: each or 0)


def test_ordinary_events_may_cost_a_share_of_what_the_process_takes() -> None:
    assert affordable(ALLOWANCE_S, 0.0)
    assert not affordable(ALLOWANCE_S + 0.1, 0.0)
    assert affordable(ALLOWANCE_S + 100 * SHARE, 100.0)
    assert not affordable(ALLOWANCE_S + 101 * SHARE, 100.0)


def test_what_is_held_of_a_stream_spans_some_seconds_of_one_run() -> None:
    held = Preroll(span_s=1.0)
    for seq in range(50):
        held.add(shot(seq, fps=8))
    assert held.find("cam", "r1", 45) is not None
    assert held.find("cam", "r1", 10) is None
    assert [each.frame.seq for each in held.take("cam")] == list(range(41, 50))
    assert (held.take("cam"), held.bytes) == ([], 0)
    for seq in range(5):
        held.add(shot(seq))
    held.add(shot(0, run="r2"))
    assert [(each.frame.run, each.frame.seq) for each in held.take("cam")] == [("r2", 0)]


def test_what_is_held_is_bounded_in_bytes_over_all_streams_and_in_frames_of_one() -> None:
    held = Preroll(span_s=100.0, most_bytes=3000)
    for seq in range(60):
        held.add(shot(seq, "large", size=100))
        held.add(shot(seq, "small", size=10))
    assert held.bytes == sum(each.bytes for shots in held._lines.values() for each in shots) <= 3000
    assert len(held.take("large")) >= 4
    assert len(held.take("small")) >= 30
    for seq in range(1000):
        held.add(shot(seq, size=1, fps=1e6))
    assert len(held.take("cam")) == MOST_HELD


def test_a_frame_that_two_queries_hold_counts_once_and_for_as_long_as_one_has_it() -> None:
    held, frame = Preroll(), shot(0)
    held.add(frame, "gate")
    held.add(Shot(frame.frame, result(0, stream="cam")), "yard")
    assert held.bytes == frame.bytes
    assert [len(held.take("cam", query)) for query in ("gate", "gate")] == [1, 0]
    assert held.bytes == frame.bytes
    assert len(held.take("cam", "yard")) == 1
    assert held.bytes == 0


def test_what_a_frame_costs_where_there_is_no_room_is_the_same_however_many_are_held(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    measured, size = list[int](), Shot.bytes.fget  # type: ignore[attr-defined]
    monkeypatch.setattr(Shot, "bytes", property(lambda each: measured.append(each.frame.seq) or size(each)))
    for most in (20, 80):
        held = Preroll(span_s=100.0, most_bytes=most * shot(0).bytes)
        for seq in range(most + 1):
            measured.clear()
            for query in ("gate", "yard"):
                held.add(shot(seq), query)
        assert held.bytes == most * shot(0).bytes
        assert len(measured) < 20


def test_a_frame_that_is_larger_than_all_room_is_not_held() -> None:
    held = Preroll(most_bytes=100)
    held.add(shot(0, size=100))
    assert (held.bytes, held.take("cam")) == (0, [])
