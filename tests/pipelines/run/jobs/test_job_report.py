"""How far a job is, and what it says."""

from __future__ import annotations

import msgspec
import pytest

from pipelines.run.jobs.job_report import MOST_NAMED, JobProgress, closing
from tests.pipelines.run.jobs.results import result


def test_recordings_count_alike_and_what_was_done_before_says_nothing_of_the_time_left() -> None:
    progress = JobProgress(4, done=1)
    progress.begun("gate", 10.0, 5.0)
    assert progress.share == pytest.approx(1.5 / 4)
    assert progress.left_s(0.0) is None
    progress.took(result(100))  # at 10 s
    assert progress.share == pytest.approx(0.5)
    assert progress.left_s(8.0) == pytest.approx(8.0 * 0.5 / 0.125)
    progress.ended("gate")
    assert progress.done == 2
    assert progress.step(2.0) == "2 of 4 recordings, 0 frames/s, 0:08 left"
    assert JobProgress(3).step(0.0) == "0 of 3 recordings, starting"


def test_a_recording_that_does_not_say_how_long_it_is_counts_when_it_is_done() -> None:
    progress = JobProgress(1)
    progress.begun("gate", None, 0.0)
    progress.took(result(100))
    assert progress.share == 0
    progress.ended("gate")
    assert progress.share == 1


def test_the_report_names_what_could_not_be_read_and_why_frames_failed() -> None:
    progress = JobProgress(30, done=30)
    progress.took(result(0))
    progress.took(msgspec.structs.replace(result(1), outcome="failed", cause="out of memory"))
    progress.unreadable = {f"s{number}": f"{number}.mp4: the file is empty" for number in range(MOST_NAMED + 2)}
    lines = closing(progress, "r.jsonl", 61.0)
    assert lines[0] == "30 of 30 recordings, 2 new results in 1:01: r.jsonl"
    assert lines[1] == "1 frames were not analysed: out of memory (1)"
    assert lines[2] == "not read to its end: 0.mp4: the file is empty"
    assert lines[-1] == "and 2 more"
    assert len(lines) == MOST_NAMED + 3
