"""A first look at sources: a few frames through a query, and the picture of each stream that shows most."""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import aclosing
from dataclasses import dataclass, field

from operators.annotate.drawing import draw
from operators.frames.frame import Frame
from operators.wire.schema import Result
from pipelines.assembly.parts import Setting, assembled
from pipelines.process.signals import stop_loop_on_signals
from pipelines.query.dag import CompiledQuery
from pipelines.run.capture_specs import capture_specs
from pipelines.run.embedded import EmbeddedRun
from serving.common.clock import SteadyClock
from serving.common.tensors import Image

FRAMES = 25
"""Frames of each stream: five seconds of a camera."""


@dataclass
class FirstFrames:
    frames: int = 0
    objects: int = -1
    """Objects in the picture."""
    labels: Counter[str] = field(default_factory=Counter)
    """Objects in all frames, by label."""
    picture: Image | None = None
    """Annotated; the first one with most objects."""


def first_look(wanted: CompiledQuery, wait_s: float) -> dict[str, FirstFrames]:
    """The first frames of the query, by stream; raises SourceError where a source gives no frame for ``wait_s``.

    Raises ``SystemExit`` after a signal.
    """
    query = wanted.query
    seen = {stream.id: FirstFrames() for stream in query.streams}

    async def take(frame: Frame, result: Result) -> None:
        of = seen[frame.stream]
        of.frames += 1
        of.labels.update(each.label for each in result.objects)
        if len(result.objects) > of.objects:
            of.objects = len(result.objects)
            of.picture = await asyncio.to_thread(draw, frame.image, result, hurried=False)

    async def look() -> None:
        setting = Setting([take], clock=SteadyClock())
        run = EmbeddedRun(capture_specs(query, limit=FRAMES, give_up_s=wait_s))
        async with assembled(wanted, setting) as parts:
            with stop_loop_on_signals() as stop:
                async with aclosing(run.results(parts.executor, stop)) as results:
                    async for _ in results:
                        pass
                if stop.is_set():
                    raise SystemExit(stop.status)

    asyncio.run(look())
    return seen
