"""One recording of a job: analysed from where its durable results end, its tracks under the ids that they had."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from math import inf

import msgspec

from operators.capture.lead_in import Resumption
from operators.capture.outlet import CaptureCallbacks
from operators.capture.service import Capture
from operators.capture.spec import CaptureSpec
from operators.frames.frame import Frame
from operators.wire.schema import Object, Result
from operators.zones.geometry import overlap
from pipelines.execute.executor import Executor
from pipelines.run.embedded import EmbeddedRun
from pipelines.run.jobs.output import JobOutput, PastFrame, PastObject, Position


@dataclass(frozen=True)
class JobRecording:
    spec: CaptureSpec
    run: str
    """The id of its run, which says by which query."""
    ahead: bool
    """Whether it is looked ahead in."""

    def after(self, passed: Mapping[float, int], until_s: float = inf) -> CaptureSpec:
        """Captures these frames once more, by media time and ``seq``, then those that follow, until a media time."""
        return replace(self.spec, resumed=Resumption(self.run, passed, until_s))


Allow = Callable[[Result], Awaitable[bool]]
"""Is asked before the next result is written, and may wait; False ends the analysis before it."""


async def unfinished(recording: JobRecording, output: JobOutput) -> bool:
    """Whether the recording has frames without a durable result; raises SourceError."""
    position = output.positions.get(recording.spec.stream)
    return position is None or await asyncio.to_thread(_goes_on, recording, position)


async def analyse(
    recording: JobRecording, output: JobOutput, executor: Executor, stop: asyncio.Event, allow: Allow
) -> None:
    """Write the results that are not durable, one for each frame.

    Raises SourceError where the recording cannot be read, SluiceError where the output cannot be written.
    """
    stream = recording.spec.stream
    past = await asyncio.to_thread(output.tail, stream)
    same = SameTracks(past)
    try:
        passed = {each.media_time_s: each.seq for each in past}
        async with aclosing(_results(recording.after(passed), recording.ahead, executor, stop)) as results:
            async for found in results:
                result = same.of(found)
                if result is not None:
                    if not await allow(result):
                        return
                    await output.write(result)
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


LEAST_OVERLAP = 0.5
"""Intersection over union of boxes of one object: the same network has seen the same pixels."""


class SameTracks:
    """Takes the results of a resumed run one by one."""

    def __init__(self, past: Sequence[PastFrame]) -> None:
        self._past = {each.seq: each for each in past}
        self._last = max(self._past, default=-1)
        self._ids: dict[int, int] = {}

    def of(self, result: Result) -> Result | None:
        """The result with the old ids of its tracks; None for one that is durable already."""
        if result.seq <= self._last:
            if (known := self._past.get(result.seq)) is not None:
                self._learn(result.objects, known.objects)
            return None
        if not self._ids.keys() & {each.track_id for each in result.objects}:
            return result
        return msgspec.structs.replace(result, objects=[self._renamed(each) for each in result.objects])

    def _learn(self, fresh: Sequence[Object], known: Sequence[PastObject]) -> None:
        """The latest frame decides; in a frame every id is given once, the best pair first."""
        pairs = [
            (overlap(each.box, old.box), each.track_id, old.track_id)
            for each in fresh
            for old in known
            if each.track_id is not None and each.label == old.label
        ]
        taken: set[int] = set()
        given: set[int] = set()
        for share, new, old in sorted(pairs, reverse=True):
            if share >= LEAST_OVERLAP and new not in given and old not in taken:
                self._ids = {id_: before for id_, before in self._ids.items() if before != old}
                self._ids[new] = old
                given.add(new)
                taken.add(old)

    def _renamed(self, found: Object) -> Object:
        old = None if found.track_id is None else self._ids.get(found.track_id)
        return found if old is None else msgspec.structs.replace(found, track_id=old)
