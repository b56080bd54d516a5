"""A job in this process, without a broker: some recordings at a time, each in order."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing as closed
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from operators.capture.sources.open import recording_length_s
from operators.capture.spec import CaptureSpec
from operators.wire.schema import Result
from pipelines.assembly.parts import Setting, assembled
from pipelines.execute.executor import Executor
from pipelines.process.heap import giving_back
from pipelines.process.safe_console import work_bar
from pipelines.process.signals import stop_loop_on_signals, stop_when_hung
from pipelines.process.tasks import meanwhile
from pipelines.process.terminal import say
from pipelines.process.tuning import tuned
from pipelines.query.dag import CompiledQuery
from pipelines.query.look_ahead import streams_ahead
from pipelines.run.capture_specs import capture_specs
from pipelines.run.jobs.chunks import AT_ONCE
from pipelines.run.jobs.identity import Identity, identity_of, query_digest, recording_digest
from pipelines.run.jobs.job_report import JobProgress, closing
from pipelines.run.jobs.json_output import open_output
from pipelines.run.jobs.output import JobOutput
from pipelines.run.jobs.recording import JobRecording, analyse, unfinished
from serving.common.clock import SteadyClock
from serving.errors import BadInput, SluiceError, SourceError

SHOWN_EVERY_S = 0.5
NUMBERED = "recordings of one name are numbered in the order of their folders: list them as streams, with ids"


@dataclass(frozen=True)
class LocalJob:
    """A query on recordings, and a place for results."""

    wanted: CompiledQuery
    """The query on the recordings."""
    text: Mapping[str, Any]
    """Its parsed file."""
    place: Path
    """Where results go."""
    anew: bool = False
    """Without the results that are there."""
    at_once: int = AT_ONCE
    hwaccel: str = "none"


def run_job(job: LocalJob) -> bool:
    """Analyse what is not done, and report; False after a signal. Raises what went wrong, also with one recording."""
    began_s, specs = time.monotonic(), capture_specs(job.wanted.query, hwaccel=job.hwaccel)
    with closed(open_output(job.place, job.anew)) as output, tuned():
        work = _LocalWork(job, specs, output)
        finished = asyncio.run(work.run())
    for line in closing(work.progress, str(job.place), time.monotonic() - began_s):
        say(line, err=True)
    problem = work.problem()
    if problem is not None:
        raise problem
    return finished


class _LocalWork:
    def __init__(self, job: LocalJob, specs: Sequence[CaptureSpec], output: JobOutput) -> None:
        """Raises BadInput where durable results are of another query or another recording."""
        self._job, self._output, self._began_s = job, output, time.monotonic()
        self._ahead = streams_ahead(job.wanted.query)
        for spec in specs:
            self._check(spec)
        self._specs = iter(specs)
        self.progress = JobProgress(len(specs))

    async def run(self) -> bool:
        """Whether it came to the end of all recordings; False after a signal."""
        with stop_loop_on_signals() as stop, work_bar(self._job.wanted.query.name) as show:
            async with (
                meanwhile(giving_back()),
                assembled(self._job.wanted, Setting(clock=SteadyClock(), stop=stop)) as parts,
                stop_when_hung(parts.hung, stop),
                meanwhile(self._showing(show)),
            ):
                await self._all(parts.executor, stop)
            return not stop.is_set()

    def problem(self) -> SluiceError | None:
        """The error that the command ends with, if any."""
        progress = self.progress
        if progress.outcomes["failed"] and not progress.outcomes["analysed"]:
            return SluiceError(f"no frame could be analysed: {next(iter(progress.causes))}")
        if progress.unreadable:
            return SourceError(
                f"{len(progress.unreadable)} of {progress.recordings} recordings could not be read to their end"
            )
        return None

    async def _all(self, executor: Executor, stop: asyncio.Event) -> None:
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(self._job.at_once):
                    group.create_task(self._one_by_one(executor, stop))
        except BaseExceptionGroup as errors:
            raise errors.exceptions[0] from None

    async def _one_by_one(self, executor: Executor, stop: asyncio.Event) -> None:
        for spec in self._specs:  # which all tasks share
            if stop.is_set():
                return
            try:
                await self._one(spec, executor, stop)
            except SourceError as error:
                self.progress.unreadable[spec.stream] = str(error).removeprefix(f"stream {spec.stream}: ")
            if not stop.is_set():
                self.progress.ended(spec.stream)

    async def _one(self, spec: CaptureSpec, executor: Executor, stop: asyncio.Event) -> None:
        position = self._output.positions.get(spec.stream)
        length_s = await asyncio.to_thread(recording_length_s, spec.uri)
        self.progress.begun(spec.stream, length_s, position.media_time_s if position else 0.0)
        run = (await asyncio.to_thread(self._identity, spec)).run if position is None else position.run
        recording = JobRecording(spec, run, spec.stream in self._ahead)
        if await unfinished(recording, self._output):
            await analyse(recording, self._output, executor, stop, self._took)

    async def _took(self, result: Result) -> bool:
        self.progress.took(result)
        return True

    async def _showing(self, show: Callable[[str, float], None]) -> None:
        while True:
            show(self.progress.step(time.monotonic() - self._began_s), self.progress.share)
            await asyncio.sleep(SHOWN_EVERY_S)

    def _identity(self, spec: CaptureSpec) -> Identity:
        return Identity(query_digest(self._job.text, self._job.wanted.versions, spec), recording_digest(spec.uri))

    def _check(self, spec: CaptureSpec) -> None:
        """The results that are there must be of this query and this recording."""
        position = self._output.positions.get(spec.stream)
        if position is None:
            return
        there, given, place = (
            identity_of(position.run),
            query_digest(self._job.text, self._job.wanted.versions, spec),
            self._job.place,
        )
        advice = "choose another --out, or --anew to lose what is there"
        if there.query != given:
            raise BadInput(f"{place}: stream {spec.stream} was analysed by another query, or other models: {advice}")
        try:
            changed = there.recording != recording_digest(spec.uri)
        except SourceError:
            return  # it is named when its turn comes
        if changed:
            numbered = f" ({NUMBERED})" if spec.stream.startswith(f"{spec.uri.stream_id[:95]}-") else ""
            what = f"{spec.uri} is not the recording that was analysed as {spec.stream}{numbered}"
            raise BadInput(f"{place}: {what}: {advice}")
