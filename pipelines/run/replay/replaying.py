"""Runs the frames of a recording through a query, one after the other, each as if it had just been captured.

Frames have all the time they need, so that what is found does not depend on how fast this machine is. Detectors that
may skip frames skip those that they skipped. The state of a stream lasts over its episodes, as it did when they
were recorded; nothing is known of what came before them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import datetime
from functools import partial
from pathlib import Path

import msgspec

from operators.capture.sources.uri import SourceUri
from operators.frames.codec import FrameError, decode_frame
from operators.frames.frame import Frame
from operators.frames.jpeg_picture import LOOKED_AT
from operators.wire.schema import Result
from pipelines.assembly.parts import Setting, assembled
from pipelines.execute.executor import Executor
from pipelines.observe.record.reading import RecordedFrame, episodes, frames, header_of, streams
from pipelines.planning.planner import Planner
from pipelines.process.signals import stop_loop_on_signals
from pipelines.query.dag import CompiledQuery, compiled
from pipelines.query.query_file import StreamSpec
from pipelines.run.replay.comparison import Comparison
from pipelines.run.replay.past import AsThen, is_whole, pasts, together
from serving.common.clock import SteadyClock
from serving.common.threads import in_thread

SLO_MS = 60_000.0
"""Time that a frame is given."""
RECORDED = SourceUri("recorded")
"""Stands for the sources of streams that the query does not have, since others were given when they were recorded."""


def replay(directory: Path, wanted: CompiledQuery) -> Comparison:
    """Compare all episodes; raises BadInput where the folder is no recording, and ``SystemExit`` after a signal."""
    known = {stream.id for stream in wanted.query.streams}
    others = [StreamSpec(uri=RECORDED, id=stream) for stream in streams(directory) if stream not in known]
    unhurried = wanted.query.model_copy(update={"slo_ms": SLO_MS, "streams": (*wanted.query.streams, *others)})
    return asyncio.run(_replay(directory, compiled(unhurried, wanted.catalogue)))


async def _replay(directory: Path, wanted: CompiledQuery) -> Comparison:
    found, planners = Comparison(), list[AsThen]()

    def as_then(planner: Planner) -> Planner:
        planners.append(AsThen(planner))
        return planners[0]

    setting = Setting(clock=SteadyClock(), planned_by=as_then)
    async with assembled(wanted, setting) as parts:
        with stop_loop_on_signals() as stop:
            for episode in episodes(directory):
                reading = together(frames(directory, episode))
                while (batch := await in_thread(partial(next, reading, None))) is not None:
                    if stop.is_set():
                        raise SystemExit(stop.status)
                    await _take(batch, parts.executor, planners[0], found)
    return found


async def _take(batch: Sequence[RecordedFrame], executor: Executor, planner: AsThen, found: Comparison) -> None:
    """Analyse frames that were planned together once more, or one."""
    results = [each.result for each in batch if each.result is not None]
    for result, past in zip(results, pasts(results), strict=True):
        planner.remember(result.id, past)
    if len(batch) == 1:
        found.take(batch[0], await _again(batch[0], executor), whole=is_whole(results))
        return
    shown = [await in_thread(partial(_decoded, each, executor.clock.now())) for each in batch]
    again = await asyncio.gather(*(_raw(each, executor) for each in shown))
    for frame, after in zip(batch, again, strict=True):
        found.take(frame, after, whole=is_whole(results))


async def _again(frame: RecordedFrame, executor: Executor) -> Result | None:
    """The frame's new result; None where it cannot be read."""
    if frame.result is None:
        return None
    header = header_of(frame.result, executor.clock.now())
    try:
        return await executor.submit(header, partial(decode_frame, header, frame.jpeg, LOOKED_AT))
    except FrameError:
        return None


def _decoded(frame: RecordedFrame, now: datetime) -> Frame | None:
    """The frame as if it had just been captured; None where it cannot be read."""
    if frame.result is None:
        return None
    header = header_of(frame.result, now)
    try:
        image = decode_frame(header, frame.jpeg).image
    except FrameError:
        return None
    return Frame(msgspec.structs.replace(header, encoding="bgr24"), image)


async def _raw(frame: Frame | None, executor: Executor) -> Result | None:
    return None if frame is None else await executor.submit(frame.header, lambda: frame)
