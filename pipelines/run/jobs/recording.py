"""One recording of a job: analysed from where its durable results end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass, replace
from math import inf

from operators.capture.lead_in import Resumption
from operators.capture.outlet import CaptureCallbacks
from operators.capture.service import Capture
from operators.capture.spec import CaptureSpec
from operators.frames.frame import Frame
from operators.wire.schema import Result
from pipelines.execute.executor import Executor
from pipelines.run.embedded import EmbeddedRun
from pipelines.run.jobs.output import JobOutput
from pipelines.run.jobs.past import Position
from pipelines.run.jobs.same_tracks import SameTracks


@dataclass(frozen=True)
class JobRecording:
    """A recording, as a job analyses it."""

    spec: CaptureSpec
    run: str
    """The id of its run, which says by which query."""
    ahead: bool
    """Whether it is looked ahead in."""

    def after(self, passed: Mapping[float, int], until_s: float = inf) -> CaptureSpec:
        """Captures these frames once more, by media time and ``seq``, then those that follow, until a media time."""
        return replace(self.spec, resumed=Resumption(self.run, passed, until_s))


async def analyse(
    recording: JobRecording, output: JobOutput, executor: Executor, stop: asyncio.Event, tell: Callable[[Result], None]
) -> None:
    """Write the results that are not durable, one for each frame; ``tell`` hears of each.

    Raises SourceError where the recording cannot be read, SluiceError where the output cannot be written.
    """
    stream = recording.spec.stream
    position = output.positions.get(stream)
    if position is not None and not await asyncio.to_thread(_goes_on, recording, position):
        return
    past = output.tail(stream)
    same = SameTracks(past)
    try:
        passed = {each.media_time_s: each.seq for each in past}
        async with aclosing(_results(recording.after(passed), recording.ahead, executor, stop)) as results:
            async for found in results:
                result = same.of(found)
                if result is not None:
                    await output.write(result)
                    tell(result)
    finally:
        await output.settle(stream)


async def _results(
    spec: CaptureSpec, ahead: bool, executor: Executor, stop: asyncio.Event
) -> AsyncGenerator[Result, None]:
    run = EmbeddedRun([spec], ahead=[spec.stream] if ahead else ())
    async with aclosing(run.results(executor, stop)) as results:
        async for each in results:
            yield each.result


def _goes_on(recording: JobRecording, last: Position) -> bool:
    """Whether a frame follows the last durable one: of a recording that is done nothing is analysed once more."""
    following: list[Frame] = []

    def take(frame: Frame) -> None:
        if frame.seq > last.seq:
            following.append(frame)

    spec = replace(recording.after({last.media_time_s: last.seq}), limit=last.seq + 2)
    Capture(spec, CaptureCallbacks(take)).run()
    return bool(following)
