"""Chunks of jobs at a worker: one recording at a time, on the networks of its live queries, behind all of their frames.

A chunk is acknowledged when its results are durable. A recording whose next chunk follows goes on without a break.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from operators.capture.spec import CaptureSpec
from operators.wire.schema import Result
from pipelines.assembly.parts import Setting, assembled
from pipelines.process.tasks import meanwhile
from pipelines.query.look_ahead import streams_ahead
from pipelines.run.capture_specs import capture_specs
from pipelines.run.jobs.chunk_taker import ChunkTaker
from pipelines.run.jobs.chunks import inside
from pipelines.run.jobs.identity import Identity, query_digest, recording_digest
from pipelines.run.jobs.job_query import JobQuery, job_query
from pipelines.run.jobs.json_output import open_output
from pipelines.run.jobs.live_load import LiveLoad
from pipelines.run.jobs.output import JobOutput, make_folder
from pipelines.run.jobs.pending import Lease
from pipelines.run.jobs.recording import JobRecording, analyse, unfinished
from serving.catalogue.lookup import Catalogue
from serving.common.clock import SteadyClock
from serving.common.files import PlaceClosed
from serving.errors import BadInput, SluiceError

if TYPE_CHECKING:
    from serving.backend import Backend

log = logging.getLogger(__name__)

AGAIN_S = 5.0
"""How long a chunk waits whose results another process holds, or cannot be written at present."""


@dataclass(frozen=True)
class JobPlaces:
    """The part of a machine that jobs may use."""

    archive: Path
    """Recordings below this folder are read."""
    results: Path
    """Each job's results lie in a folder below this one."""
    known: Catalogue
    hwaccel: str = "none"


class JobWorker:
    def __init__(self, places: JobPlaces, taker: ChunkTaker, networks: Backend, late: Callable[[], int]) -> None:
        """``late``: counts live frames that were late, or given up."""
        self._places, self._taker, self._networks = places, taker, networks
        self._load = LiveLoad(networks.stats, late)

    async def run(self) -> None:
        """Take chunks and do them; whatever goes wrong is logged, and costs the live queries nothing."""
        partition = waits = said = None
        async with meanwhile(self._taker.run()), meanwhile(self._load.run()):
            while True:
                lease = await self._taker.next(partition, waits)
                partition, waits = lease.partition, None
                try:
                    await self._do(lease)
                except SluiceError as error:
                    if isinstance(error, BadInput) and not isinstance(error, PlaceClosed):
                        await self._refuse(lease, str(error))
                    else:
                        if str(error) != said:
                            log.warning("job %s waits: %s", lease.job, error)
                        said = str(error)
                        waits = partition  # other jobs may not have to
                        await asyncio.sleep(AGAIN_S)
                except Exception:
                    log.exception("job %s: chunk %d of %s failed", lease.job, lease.chunk.number, lease.chunk.source)
                    await self._refuse(lease, "the analysis failed: the log of the worker says how")
                finally:
                    self._taker.free()

    async def _do(self, lease: Lease) -> None:
        """Raises BadInput where it cannot be done, PlaceClosed where it has to wait, SluiceError.

        Folders may lie on another machine, which does not answer: live frames must not wait for them.
        """
        chunk, folder = lease.chunk, self._places.results / lease.job
        file = await asyncio.to_thread(inside, self._places.archive, chunk.source)
        query = await asyncio.to_thread(job_query, chunk.query, chunk.stream, file, self._places.known)
        (spec,) = capture_specs(query.wanted.query, hwaccel=self._places.hwaccel)
        run = (await asyncio.to_thread(_identity, query, spec)).run
        await asyncio.to_thread(make_folder, folder, parents=True)
        recording = JobRecording(replace(spec, background=True), run, bool(streams_ahead(query.wanted.query)))
        output = await asyncio.to_thread(open_output, folder / f"{chunk.stream}.{chunk.form}", False)
        with closing(output):
            position = output.positions.get(chunk.stream)
            if position is not None and position.run != run:
                raise BadInput("its results are of another query or another recording: submit it under another name")
            await asyncio.to_thread((folder / f"{chunk.stream}.error").unlink, missing_ok=True)
            begun_here = position is None or chunk.holds(position.media_time_s)
            if begun_here and await unfinished(recording, output):
                await self._analyse(query, recording, output, lease)
            else:
                await self._taker.done(lease)

    async def _analyse(self, query: JobQuery, recording: JobRecording, output: JobOutput, lease: Lease) -> None:
        setting = Setting(clock=SteadyClock(), local=self._networks, background=True)
        leased: Lease | None = lease

        async def allow(result: Result) -> bool:
            """Behind live frames, and not beyond the chunks that this worker has."""
            nonlocal leased
            await self._load.room(self._taker.put_down)
            while leased is not None and not leased.chunk.holds(result.frame.media_time_s):
                await output.settle(result.stream)
                leased = await self._taker.done(leased)
            return leased is not None and not self._taker.put_down.is_set()

        async with assembled(query.wanted, setting) as parts:
            with self._load.working():
                await analyse(recording, output, parts.executor, self._taker.put_down, allow)
            if leased is not None and not self._taker.put_down.is_set():  # the recording has ended
                await self._taker.done(leased)

    async def _refuse(self, lease: Lease, why: str) -> None:
        """Say in the job's folder why a recording has no results, or not all."""
        chunk = lease.chunk
        log.warning("job %s: %s is not analysed to its end: %s", lease.job, chunk.source, why)
        file = self._places.results / lease.job / f"{chunk.stream}.error"
        try:
            await asyncio.to_thread(file.parent.mkdir, parents=True, exist_ok=True)
            await asyncio.to_thread(file.write_text, f"{chunk.source}: {why}\n", encoding="utf-8")
        except OSError as error:
            log.warning("job %s: cannot write to its results: %s", lease.job, error)
        await self._taker.done(lease)


def _identity(query: JobQuery, spec: CaptureSpec) -> Identity:
    return Identity(query_digest(query.data, query.wanted.versions, spec), recording_digest(spec.uri))
