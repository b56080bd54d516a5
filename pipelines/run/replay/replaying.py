"""Runs the frames of a recording through a query, one after the other, each as if it had just been captured.

Frames have all the time they need, so that what is found does not depend on how fast this machine is. What is known
of a stream lasts over its episodes, as it did when they were recorded; nothing is known of what came before them.
"""

from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path

from operators.frames.codec import FrameError, decode_frame
from operators.wire.schema import Result
from pipelines.assembly.parts import Setting, assembled
from pipelines.execute.executor import Executor
from pipelines.observe.record.reading import RecordedFrame, episodes, frames, header_of
from pipelines.process.early_stop import Stopped
from pipelines.process.signals import stop_loop_on_signals
from pipelines.query.compiled import CompiledQuery, compiled
from pipelines.run.replay.comparison import Comparison
from serving.common.clock import SteadyClock
from serving.common.threads import in_thread
from specialization.trainer.trainer import ThreadSpecializer

SLO_MS = 60_000.0
"""Time that a frame is given."""
INTERRUPTED = 130
"""Status of a command that Ctrl-C has ended."""


def replay(directory: Path, wanted: CompiledQuery) -> Comparison:
    """Compare all episodes; raises BadInput where the folder is no recording, and ``Stopped`` after a signal."""
    unhurried = wanted.query.model_copy(update={"slo_ms": SLO_MS})
    return asyncio.run(_replay(directory, compiled(unhurried, wanted.catalogue)))


async def _replay(directory: Path, wanted: CompiledQuery) -> Comparison:
    found = Comparison()
    setting = Setting(ThreadSpecializer(), clock=SteadyClock())
    async with assembled(wanted, setting) as parts:
        with stop_loop_on_signals() as stop:
            for episode in episodes(directory):
                reading = frames(directory, episode)
                while (frame := await in_thread(partial(next, reading, None))) is not None:
                    if stop.is_set():
                        raise Stopped(INTERRUPTED)
                    found.take(frame, await _again(frame, parts.executor))
    return found


async def _again(frame: RecordedFrame, executor: Executor) -> Result | None:
    """The frame's new result; None where it cannot be read."""
    if frame.result is None:
        return None
    header = header_of(frame.result, executor.clock.now())
    try:
        return await executor.submit(header, partial(decode_frame, header, frame.jpeg))
    except FrameError:
        return None
