"""The shares in time of turns with a job and without."""

from __future__ import annotations

from datetime import timedelta

import msgspec
import pytest

from benchmarks.jobs import SETTLES_S, Turn, rows_of, share
from operators.wire.schema import Result
from tests.pipelines.run.jobs.results import result


def at(seq: int, in_time: bool) -> Result:
    """A frame of a camera at this second."""
    found = result(seq)
    frame = msgspec.structs.replace(found.frame, captured_at=found.frame.captured_at + timedelta(seconds=seq))
    plan = msgspec.structs.replace(found.plan, deadline_met=in_time, latency_ms=float(seq))
    return msgspec.structs.replace(found, frame=frame, plan=plan)


def test_frames_of_a_turn_but_its_first_seconds_count_and_turns_count_by_their_frames() -> None:
    begun = result(0).frame.captured_at
    second = begun + timedelta(seconds=10)
    turns = [Turn(False, begun, second), Turn(True, second, begun + timedelta(seconds=20))]
    live = [at(seq, in_time=seq not in (1, 15)) for seq in range(25)]
    without, during = rows_of(turns, live)
    assert (without["frames"], without["in_time"]) == (10 - SETTLES_S, 1.0)
    assert (during["frames"], during["in_time"], during["p95_ms"]) == (7, round(6 / 7, 4), 19.0)
    assert share([without, during], 1) == pytest.approx(6 / 7, abs=1e-4)
    assert share([], 1) == 0.0


def test_a_dropped_frame_is_not_in_time() -> None:
    begun = result(0).frame.captured_at
    dropped = msgspec.structs.replace(at(5, in_time=True), outcome="dropped")
    (row,) = rows_of([Turn(True, begun, begun + timedelta(seconds=9))], [dropped])
    assert (row["frames"], row["in_time"], row["p95_ms"]) == (1, 0.0, None)
