"""Chunks of recordings, and those that wait at a worker."""

from __future__ import annotations

import asyncio
import os
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path

import msgspec
import pytest

from operators.wire.jobs import MOST_CHUNKS, JobOrder, RecordingChunk
from operators.wire.schema import from_json, to_json
from pipelines.run.jobs.chunks import cut, inside, relative
from pipelines.run.jobs.job_report import JobStanding
from pipelines.run.jobs.live_load import TERMS, WINDOW_S, LiveLoad
from pipelines.run.jobs.pending import BESIDE_BYTES, MOST_BYTES, Pending
from serving.errors import BadInput, Malformed, SourceError
from serving.scheduling.device import DeviceStats
from tests.fake_clock import FakeClock
from tests.turns import turns

AT = datetime(2026, 1, 1, tzinfo=UTC)


def order(number: int = 1, stream: str = "gate", job: str = "night", **changes: object) -> JobOrder:
    said = {"query": "q", "source": f"{stream}.mp4", "stream": stream, "form": "jsonl", "number": number, "of": 9}
    times = {"recordings": 1, "from_s": 60.0 * (number - 1), "to_s": 60.0 * number}
    return JobOrder(job=job, at=AT, chunk=RecordingChunk(**(said | times | changes)))  # type: ignore[arg-type]


def ended(job: str = "night") -> JobOrder:
    return JobOrder(job=job, at=AT)


def pending(*orders: JobOrder | None, partition: int = 0) -> Pending:
    found = Pending()
    for offset, each in enumerate(orders):
        found.take(partition, offset, each, 100)
    return found


def test_a_long_recording_has_no_more_chunks_than_messages_allow() -> None:
    chunks = cut(365 * 86_400.0)
    assert len(chunks) <= MOST_CHUNKS
    assert chunks[-1][1] is None
    assert all(this[1] == following[0] for this, following in pairwise(chunks))


def test_a_path_of_a_message_stays_in_the_archive(tmp_path: Path) -> None:
    archive = tmp_path / "archive"
    (archive / "gate").mkdir(parents=True)
    (archive / "out.mp4").symlink_to(tmp_path / "secret.mp4")
    (archive / "in.mp4").symlink_to(archive / "gate" / "a.mp4")
    assert inside(archive, "gate/../gate/a.mp4") == archive / "gate" / "a.mp4"
    assert inside(archive, "in.mp4") == archive / "gate" / "a.mp4"
    os.mkfifo(archive / "pipe.mp4")
    for source in ("pipe.mp4", "../secret.mp4", "/etc/passwd", "out.mp4", ".", "", "gate/../../x", "a\0b"):
        with pytest.raises(SourceError):
            inside(archive, source)
    assert relative(archive, str(archive / "gate" / "a.mp4")) == "gate/a.mp4"
    with pytest.raises(BadInput, match="outside of --archive"):
        relative(archive, str(tmp_path / "a.mp4"))


@pytest.mark.parametrize(
    "changes",
    [
        {"stream": "../x"},
        {"stream": ".hidden"},
        {"stream": "a/b"},
        {"stream": ""},
        {"source": "x" * 2000},
        {"query": ""},
        {"query": "x" * 200_000},
        {"form": "csv"},
        {"number": 0},
        {"of": MOST_CHUNKS + 1},
        {"from_s": -1.0},
    ],
)
def test_a_chunk_beyond_its_bounds_is_refused(changes: dict[str, object]) -> None:
    with pytest.raises(Malformed):
        from_json(to_json(order(**changes)), JobOrder)
    with pytest.raises(Malformed):
        from_json(to_json(order(job="../up")), JobOrder)


def test_chunks_come_in_order_and_those_of_a_recording_follow_each_other() -> None:
    waiting = pending(order(1), order(2), order(1, "yard"))
    first = waiting.first()
    assert first is not None
    assert first.chunk.number == 1
    assert waiting.passed() == {}
    following = waiting.following(first)
    assert following is not None
    assert following.chunk.number == 2
    waiting.done(first)
    assert waiting.passed() == {0: 1}
    assert waiting.following(following) is None
    waiting.done(following)
    last = waiting.first()
    assert last is not None
    assert last.chunk.stream == "yard"
    assert waiting.following(last) is None


def test_a_job_that_was_ended_is_left_and_one_of_the_same_name_that_came_later_is_not() -> None:
    waiting = pending(order(1), order(2))
    first = waiting.first()
    assert first is not None
    assert waiting.wanted(first)
    waiting.take(0, 2, ended(), 10)
    assert not waiting.wanted(first)
    assert waiting.first() is None
    assert waiting.passed() == {0: 3}
    waiting.take(0, 3, order(1), 10)
    again = waiting.first()
    assert again is not None
    assert again.offset == 3


def test_what_nobody_can_read_is_passed_over_and_another_job_goes_on() -> None:
    waiting = pending(None, ended("day"), order(1))
    found = waiting.first()
    assert found is not None
    assert found.offset == 2
    assert waiting.passed() == {0: 2}


def test_the_partition_whose_recording_goes_on_comes_first_and_what_moves_away_is_forgotten() -> None:
    waiting = pending(order(1))
    waiting.take(7, 40, order(3, "yard"), MOST_BYTES)
    assert waiting.full
    lease = waiting.first(7)
    assert lease is not None
    assert lease.partition == 7
    assert waiting.first(3) == waiting.first(0)
    assert waiting.first(0, last=0) == waiting.first(7)
    waiting.clear()
    assert not waiting.full
    assert not waiting.wanted(lease)
    assert waiting.first() is None
    waiting.done(lease)
    assert waiting.passed() == {}


def test_jobs_wait_while_the_device_is_busy_with_live_frames() -> None:
    clock, stats = FakeClock(), DeviceStats()
    load = LiveLoad(lambda: stats, lambda: 0, clock, lambda: 0.0, 1)
    load.look()
    assert not load.busy
    for _ in range(40):
        clock.advance(0.1)
        stats = stats.ran(1, 0.05, background=False).ran(1, 0.05, background=True)
        load.look()
    assert load.share == pytest.approx(0.5)
    assert load.busy
    for _ in range(round(10 * WINDOW_S)):
        clock.advance(0.1)
        stats = stats.ran(1, 0.09, background=True).ran(1, 0.1 * TERMS.offline_busy / 2, background=False)
        load.look()
    assert load.share == pytest.approx(TERMS.offline_busy / 2)
    assert not load.busy


class Worker:
    """Live frames that take a share of two cores, and a job that takes all that is left while it runs."""

    def __init__(self) -> None:
        self.clock, self.processor_s, self.late, self.live, self.job = FakeClock(), 0.0, 0, 0.2, False
        self.load = LiveLoad(DeviceStats, lambda: self.late, self.clock, lambda: self.processor_s, 2)

    def pass_s(self, seconds: float) -> None:
        for _ in range(round(10 * seconds)):
            self.clock.advance(0.1)
            self.processor_s += 0.1 * 2 * (1.0 if self.job else self.live)
            self.load.look()


def test_the_processors_time_for_live_frames_counts_and_that_of_the_job_does_not() -> None:
    worker = Worker()
    worker.pass_s(3)
    assert (worker.load.share, worker.load.busy) == (pytest.approx(0.2), False)
    with worker.load.working():
        worker.job = True
        worker.pass_s(10)
        assert (worker.load.share, worker.load.busy) == (pytest.approx(0.2), False)
        worker.job = False
    worker.live = 0.5
    worker.pass_s(4)
    assert (worker.load.share, worker.load.busy) == (pytest.approx(0.5), True)


async def test_a_job_waits_while_live_frames_are_late_and_then_for_the_load() -> None:
    worker, stop = Worker(), asyncio.Event()
    worker.pass_s(3)
    with worker.load.working():
        await worker.load.room(stop)  # at once
        worker.late, worker.live = 1, 0.6  # more cameras: one frame is late
        worker.pass_s(0.2)
        waits = asyncio.create_task(worker.load.room(stop))
        await turns()
        worker.pass_s(5)  # the late one is long ago, and the processor was looked at meanwhile
        await turns()
        assert (worker.load.share, worker.load.busy, waits.done()) == (pytest.approx(0.6), True, False)
        worker.live = 0.1
        worker.pass_s(3)
        await asyncio.wait_for(waits, 120)
        worker.late += 1
        worker.pass_s(0.1)
        stop.set()
        await worker.load.room(stop)


def test_a_job_says_how_far_it_is_and_how_long_it_will_take() -> None:
    standing, now = JobStanding("night"), AT.replace(minute=10)
    for number in range(1, 5):
        standing.see(order(number), 0, done=number == 1)
    assert standing.text(now) == "night: 1 of 4 chunks (25 %), about 30:00 left"
    standing.see(ended(), 0, done=False)
    assert standing.text(now) == "night: cancelled; results that are there stay"
    again = JobStanding("night")
    for number in range(1, 5):
        again.see(order(number), 0, done=True)  # workers have passed over those that they were to leave
    again.see(ended(), 0, done=True)
    again.see(order(2), 0, done=True)
    again.see(order(3), 0, done=False)
    assert again.text(now) == "night: 1 of 2 chunks (50 %), about 10:00 left"


def test_a_job_that_was_cancelled_and_submitted_anew_goes_on_in_whatever_order_partitions_are_read() -> None:
    standing, late = JobStanding("night"), AT + timedelta(days=7)
    for number in (1, 2):
        standing.see(order(number), 0, done=True)
    standing.see(ended(), 0, done=True)
    for number in (1, 2):
        standing.see(msgspec.structs.replace(order(number), at=late), 0, done=number == 1)
    standing.see(order(3), 1, done=True)
    standing.see(ended(), 1, done=True)
    assert standing.text(late + timedelta(minutes=10)) == "night: 1 of 2 chunks (50 %), about 10:00 left"
    assert standing.text(late - timedelta(minutes=1)) == "night: 1 of 2 chunks (50 %), about 0:00 left"


def test_empty_messages_are_not_read_ahead_without_end() -> None:
    waiting = pending(order(1))
    for offset in range(1, MOST_BYTES // BESIDE_BYTES):
        assert not waiting.full
        waiting.take(0, offset, None, 0)
    assert waiting.full
    first = waiting.first()
    assert first is not None
    waiting.done(first)
    assert waiting.first() is None
    assert not waiting.full


def test_ends_of_jobs_are_forgotten_once_they_have_passed() -> None:
    waiting = Pending()
    for offset in range(1000):
        waiting.take(0, offset, ended(f"job{offset}"), 10)
        assert waiting.first() is None
    assert not waiting._ended
    waiting.take(0, 1000, order(1, job="job999"), 10)  # submitted anew
    assert waiting.first() is not None
