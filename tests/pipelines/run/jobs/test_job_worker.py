"""A worker that cannot write results waits: the chunk is not given up, nor taken from others for good."""

from __future__ import annotations

import asyncio
import shutil
import threading
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from operators.wire.jobs import RecordingChunk
from pipelines.run.jobs import job_worker
from pipelines.run.jobs.job_worker import JobPlaces, JobWorker
from pipelines.run.jobs.pending import Lease
from serving.catalogue.lookup import SHIPPED, Catalogue
from serving.errors import SourceError
from serving.scheduling.device import DeviceStats

CLIP = Path(__file__).parents[4] / "examples" / "street.mp4"
QUERY = "{version: 1, name: moves, slo_ms: 1000, nodes: [{name: detect, task: detect, model: motion}]}"


class OneChunk:
    """A taker that always has the same chunk."""

    def __init__(self, source: str, archive: Path) -> None:
        self.archive = archive
        whole: Any = {"number": 1, "of": 1, "recordings": 1, "from_s": 0.0, "to_s": None}
        chunk = RecordingChunk(query=QUERY, source=source, stream="street", form="jsonl", **whole)
        self.lease = Lease(0, 0, "night", chunk)
        self.put_down = asyncio.Event()
        self.acknowledged = asyncio.Event()
        self.tries = 0
        self.last: int | None = None

    async def run(self) -> None:
        await asyncio.Event().wait()

    async def next(self, partition: int | None, last: int | None) -> Lease:
        self.tries, self.last = self.tries + 1, last
        return self.lease

    async def done(self, lease: Lease) -> None:
        self.acknowledged.set()
        await asyncio.Event().wait()

    def free(self) -> None:
        """Nothing is kept."""


async def worked(taker: OneChunk, results: Path, until: Any) -> None:
    places = JobPlaces(taker.archive, results, Catalogue([SHIPPED]))
    networks: Any = SimpleNamespace(stats=DeviceStats)
    task = asyncio.create_task(JobWorker(places, taker, networks, lambda: 0).run())  # type: ignore[arg-type]
    async with asyncio.timeout(120):
        while not until():  # noqa: ASYNC110 - the worker does not tell
            await asyncio.sleep(0.01)
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


async def test_where_results_cannot_be_written_a_chunk_waits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(job_worker, "AGAIN_S", 0.01)
    (results := tmp_path / "results").write_text("no folder")
    (archive := tmp_path / "archive").mkdir()
    shutil.copy(CLIP, archive / "street.mp4")
    taker = OneChunk("street.mp4", archive)
    await worked(taker, results, lambda: taker.tries > 3)
    assert not taker.acknowledged.is_set()
    assert taker.last == taker.lease.partition, "jobs of other partitions come before it"
    assert caplog.text.count("job night waits: cannot write results to ") == 1


async def test_live_frames_do_not_wait_for_an_archive_that_does_not_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = threading.Event()

    def inside(folder: Path, source: str) -> Path:
        assert answers.wait(120)
        raise SourceError("it does not answer", "timeout")

    monkeypatch.setattr(job_worker, "inside", inside)
    taker = OneChunk("street.mp4", tmp_path)

    def looked() -> bool:
        """Said by the loop, which goes on meanwhile."""
        if taker.tries:
            answers.set()
        return taker.acknowledged.is_set()

    await worked(taker, tmp_path / "results", looked)
    assert "it does not answer" in (tmp_path / "results" / "night" / "street.error").read_text()


async def test_a_recording_that_is_not_there_is_refused_and_acknowledged(tmp_path: Path) -> None:
    taker = OneChunk("../../etc/passwd", tmp_path)
    await worked(taker, tmp_path / "results", taker.acknowledged.is_set)
    assert "outside of the archive" in (tmp_path / "results" / "night" / "street.error").read_text()
