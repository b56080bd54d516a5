"""A worker thins streams of which every frame is published: by media time, and by what moves."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec
import pytest

from operators.testing.builders import make_frame
from operators.wire.schema import FrameHeader, Result
from pipelines.partition.sampling import FrameSampling, Thinning, thinned
from tests.integration.worker_parts import CountingAnalyser
from tests.pipelines.queries import DETECT, query

FIVE = {"cam": Thinning(fps=5)}


def header(seq: int, media_time_s: float | None = None, **changes: Any) -> FrameHeader:
    made = make_frame(seq, seq / 25 if media_time_s is None else media_time_s).header
    return msgspec.structs.replace(made, encoding="jpeg", **changes)


def result(of: FrameHeader) -> Result:
    return CountingAnalyser("query").unanalysed(of, "analysed", None)


def taken(sampling: FrameSampling, frames: Iterable[FrameHeader]) -> list[int]:
    return [frame.seq for frame in frames if sampling.leaves_out(frame) is None]


def test_the_first_frame_of_each_interval_is_looked_at() -> None:
    assert taken(FrameSampling(FIVE), map(header, range(25))) == [0, 5, 10, 15, 20]
    sampling = FrameSampling(FIVE)
    assert [sampling.leaves_out(header(seq)) for seq in range(3)] == [None, "sample", "sample"]


def test_times_that_are_rounded_or_vary_add_nothing_up() -> None:
    rounded = [header(seq, round(seq / 24, 3)) for seq in range(240)]
    assert len(taken(FrameSampling({"cam": Thinning(fps=6)}), rounded)) == 60
    uneven = [header(0, 0.0), header(1, 0.9), header(2, 0.95), header(3, 1.02), header(4, 7.0)]
    assert taken(FrameSampling({"cam": Thinning(fps=1)}), uneven) == [0, 3, 4]


def test_more_frames_are_asked_for_than_come() -> None:
    assert taken(FrameSampling({"cam": Thinning(fps=240)}), map(header, range(50))) == list(range(50))


def test_streams_and_runs_are_thinned_by_themselves() -> None:
    sampling = FrameSampling(FIVE)
    assert taken(sampling, [header(0), header(1, run="next"), header(2, run="next")]) == [0, 1]
    assert taken(sampling, [header(seq, stream="other") for seq in range(10)]) == list(range(10))


def test_what_capture_has_thinned_is_not_thinned_again() -> None:
    offset = [header(seq, 0.19 + 0.2 * seq + 0.02 * (seq % 2), sample_fps=5.0) for seq in range(10)]
    assert taken(FrameSampling(FIVE), offset) == list(range(10))
    more = [header(seq, seq / 10, sample_fps=10.0) for seq in range(10)]
    assert taken(FrameSampling(FIVE), more) == [0, 2, 4, 6, 8]


def test_media_time_that_goes_back_begins_anew_and_disorder_does_not() -> None:
    assert taken(FrameSampling(FIVE), [header(0, 100.0), header(1, 99.9), header(2, 100.1), header(3, 1.0)]) == [0, 3]
    assert taken(FrameSampling(FIVE), [header(0, -3.0), header(1, -2.95), header(2, -2.8)]) == [0, 2]


@pytest.mark.parametrize("committed", [0, 3, 5, 11, 30])
@pytest.mark.parametrize("answered", [0, 4, 5, 12, 20])
def test_a_successor_looks_at_the_frames_that_its_predecessor_would_have(committed: int, answered: int) -> None:
    frames = [header(seq) for seq in range(40)]
    everything = taken(FrameSampling(FIVE), frames)
    done = [seq for seq in everything if seq <= answered]
    successor = FrameSampling(FIVE)
    successor.leaves_out(frames[0])
    successor.begin_anew()
    for seq in done:
        successor.before(result(frames[seq]))
    again = frames[min(committed, done[-1] + 1) :]
    rest = taken(successor, [frame for frame in again if frame.seq not in done])
    assert done + rest == everything


def test_a_producer_that_begins_its_numbers_anew_is_heard_by_a_successor() -> None:
    last = make_frame(9000, 360.0).header
    sampling = FrameSampling(FIVE)
    sampling.before(result(last))
    assert sampling.leaves_out(header(8999, 359.9, captured_at=last.captured_at)) == "repeated"
    assert sampling.leaves_out(header(0, 0.0)) is None, "it was captured later"


def test_results_are_read_as_far_back_as_an_interval_reaches() -> None:
    assert FrameSampling().reach_s == 0
    assert FrameSampling({"a": Thinning(fps=5), "b": Thinning(fps=0.01)}).reach_s == 100
    assert FrameSampling({"a": Thinning(fps=1e-9)}).reach_s == 3600


def test_what_a_query_asks_for() -> None:
    streams = [
        {"uri": "a.mp4", "id": "a"},
        {"uri": "b.mp4", "id": "b", "sample": {"fps": 2}},
        {"uri": "c.mp4", "id": "c", "sample": "keyframes"},
        {"uri": "d.mp4", "id": "d", "motion_gate": True},
    ]
    sampling = FrameSampling(thinned(query(DETECT).model_validate({**query(DETECT).model_dump(), "streams": streams})))
    frames = [header(seq, stream=stream) for stream in "abcd" for seq in (0, 1)]
    assert [sampling.leaves_out(frame) for frame in frames] == [None, None, None, "sample", None, None, None, None]
