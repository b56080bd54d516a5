"""Offline jobs at workers behind a real broker: killed workers cost no frame, messages reach no other file."""

from __future__ import annotations

import json
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path

import pytest
from kafka import KafkaProducer

from operators.wire.jobs import JobOrder, RecordingChunk
from operators.wire.schema import to_json
from tests.pipelines.run.test_run_query import write_clip
from tests.real.command import sluice
from tests.real.kafka import KafkaBroker
from tests.real.process import Sluice, until

pytestmark = pytest.mark.kafka

QUERY = """
version: 1
name: test
slo_ms: 60000
learning: {budget: 0}
nodes:
  - {name: detect, task: detect, model: motion}
  - {name: track, task: track, input: detect}
"""
FRAMES = 1300
"""130 s, which are three chunks."""


class Yard:
    """An archive, results, and workers at a broker."""

    def __init__(self, folder: Path, broker: KafkaBroker, prefix: str) -> None:
        self.folder, self.broker, self.prefix = folder, broker, prefix
        self.archive, self.results = folder / "archive", folder / "results"
        for each in (self.archive, self.results):
            each.mkdir()
        self.query = folder / "query.yaml"
        self.query.write_text(QUERY)
        self.at = ("--broker", f"kafka://{broker.bootstrap}", "--prefix", prefix)
        made = sluice("topics", "create", self.query, *self.at)
        assert made.returncode == 0, made.stderr

    def worker(self) -> Sluice:
        folders = "--archive", self.archive, "--job-results", self.results
        return Sluice(self.folder / "workers", "worker", self.query, *self.at, *folders)

    def submit(self, *more: object, status: int = 0) -> str:
        done = sluice("submit", *more, *self.at)
        assert done.returncode == status, done.stderr
        return done.stdout + done.stderr

    def job(self, out: str) -> str:
        source = "--source", self.archive / "*.mp4", "--archive", self.archive
        return self.submit(self.query, *source, "--out", out)

    def lines(self, job: str) -> dict[str, list[tuple[int, float]]]:
        """Place and time of each result, by stream; a line that is being written is none yet."""
        return {
            file.stem: [
                (each["seq"], each["frame"]["media_time_s"])
                for each in map(json.loads, file.read_text().rpartition("\n")[0].splitlines())
            ]
            for file in (self.results / job).glob("*.jsonl")
        }

    def size(self, job: str) -> int:
        return sum(file.stat().st_size for file in (self.results / job).glob("*.jsonl"))

    def whole(self) -> dict[str, list[tuple[int, float]]]:
        """What ``sluice run`` finds."""
        sources = [part for clip in sorted(self.archive.glob("*.mp4")) for part in ("--source", clip)]
        done = sluice("run", self.query, *sources, "--out", self.folder / "whole.jsonl")
        assert done.returncode == 0, done.stderr
        found: dict[str, list[tuple[int, float]]] = {}
        for each in map(json.loads, (self.folder / "whole.jsonl").read_text().splitlines()):
            found.setdefault(each["stream"], []).append((each["seq"], each["frame"]["media_time_s"]))
        return found


@pytest.fixture
def yard(tmp_path: Path, kafka_broker: KafkaBroker, topic_prefix: str) -> Yard:
    return Yard(tmp_path, kafka_broker, topic_prefix)


def test_workers_that_are_killed_five_times_cost_no_frame(yard: Yard) -> None:
    for number in range(2):
        write_clip(yard.archive / f"cam{number}.mp4", FRAMES)
    assert "job night: 6 chunks of 2 recordings wait for workers" in yard.job("night.jsonl")
    with ExitStack() as running:
        worker = running.enter_context(yard.worker())
        for _ in range(5):
            before = yard.size("night")
            until(lambda before=before: yard.size("night") > before, "results", worker)
            following = running.enter_context(yard.worker())
            worker.kill()
            worker = following
        until(lambda: list(map(len, yard.lines("night").values())) == [FRAMES] * 2, "the job", worker)
        assert worker.terminate() == 0  # with what is done acknowledged
    assert "6 of 6 chunks (100 %), done" in yard.submit("--status", "night")
    assert yard.lines("night") == yard.whole()


def test_a_job_may_be_ended_and_what_came_before_it_is_heard_of(yard: Yard) -> None:
    write_clip(yard.archive / "cam0.mp4", FRAMES)
    yard.job("night.jsonl")
    assert "night: 0 of 3 chunks (0 %)" in yard.submit("--status", "night")
    yard.submit("--cancel", "nihgt", status=2)
    assert "night: cancelled; results that are there stay" in yard.submit("--cancel", "night")
    yard.submit("--status", "day", status=2)
    assert "3 chunks of 1 recordings" in yard.job("day.parquet")
    with yard.worker() as worker:
        until(lambda: len(list(yard.results.glob("day/*/part-*"))) == 3, "the job", worker)
        assert worker.terminate() == 0
    assert "3 of 3 chunks" in yard.submit("--status", "day")
    assert not (yard.results / "night").exists()
    assert [each.name for each in (yard.results / "day").iterdir()] == ["cam0.parquet"]


def test_a_message_reaches_no_file_outside_of_the_archive(yard: Yard) -> None:
    secret = write_clip(yard.folder / "secret.mp4")
    write_clip(yard.archive / "cam0.mp4")
    (yard.archive / "link.mp4").symlink_to(secret)

    def order(stream: str, source: str, query: str = QUERY) -> JobOrder:
        chunk = RecordingChunk(
            query=query, source=source, stream=stream, form="jsonl", number=1, of=1, recordings=1, from_s=0.0, to_s=None
        )
        return JobOrder(job="odd", at=datetime.now(UTC), chunk=chunk)

    backends = QUERY + "backends: {gpu: {url: 'grpc://elsewhere:1', key: '${file:/etc/passwd}'}}\n"
    sent = [b"no JSON", b"{}"] + [
        to_json(each)
        for each in (
            order("up", "../secret.mp4"),
            order("root", str(secret)),
            order("link", "link.mp4"),
            order("none", "none.mp4"),
            order("backends", "cam0.mp4", backends),
            order("good", "cam0.mp4"),
        )
    ]
    producer = KafkaProducer(bootstrap_servers=yard.broker.bootstrap)
    for value in sent:
        producer.send(f"{yard.prefix}jobs.v1", value, b"odd", partition=0)
    producer.flush()
    producer.close()
    with yard.worker() as worker:
        until(lambda: yard.lines("odd").get("good", ())[19:], "the job", worker)
        assert worker.terminate() == 0
    said = {each.stem: each.read_text() for each in (yard.results / "odd").glob("*.error")}
    assert said.keys() == {"up", "root", "link", "none", "backends"}
    assert all("lies outside of the archive" in said[each] for each in ("up", "root", "link"))
    assert "backends are not for jobs" in said["backends"]
    assert {stream: len(found) for stream, found in yard.lines("odd").items()} == {"good": 20}
    assert "a message is passed over" in worker.errors


def test_what_cannot_be_submitted_is_one_line(yard: Yard) -> None:
    write_clip(yard.archive / "cam0.mp4")
    (yard.archive / "cam1.mp4").write_bytes(b"no video")
    source = "--source", yard.archive / "*.mp4", "--archive", yard.archive
    said = yard.submit(yard.query, *source, "--out", "night.jsonl", status=2)
    assert "1 chunks of 1 recordings" in said
    assert "left out: " in said
    assert "--archive DIR is missing" in yard.submit(yard.query, *source[:2], "--out", "a.jsonl", status=2)
    assert "at workers results have a name" in yard.submit(yard.query, *source, "--out", "a/b.jsonl", status=2)
    outside = "--source", yard.archive / "*.mp4", "--archive", yard.results
    assert "lies outside of --archive" in yard.submit(yard.query, *outside, "--out", "a.jsonl", status=2)
