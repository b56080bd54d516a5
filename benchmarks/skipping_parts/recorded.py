"""What a detector finds on every frame of a clip, by the product's own operator."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path

import av

from operators.base import Call
from operators.decision import Decision
from operators.detect.onnx import OnnxDetector
from operators.frames.frame import Frame, Region, frame_of
from operators.wire.schema import FrameId
from pipelines.environment import catalogue
from serving.backend import Backend
from serving.scheduling.limits import NetworkBounds
from serving.scheduling.requests import Urgency

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
Found = list[list[Region]]
"""The regions of each frame."""


def frames(clip: Path, most: int | None) -> Iterator[Frame]:
    """The frames of a clip, or the first of them."""
    with av.open(str(clip)) as container:
        for seq, picture in enumerate(islice(container.decode(video=0), most)):
            image = picture.to_ndarray(format="bgr24")
            yield frame_of(FrameId(clip.stem, "run", seq), image, float(picture.time or 0.0))


async def recorded(clip: Path, most: int | None, models: Path, model: str) -> tuple[Found, float]:
    """Return what the detector finds on each frame, and its processor seconds for one."""
    engine = Backend(catalogue([models]), bounds=NetworkBounds(threads=1))
    await engine.start()
    try:
        detector = OnnxDetector(engine, "detect", [model])
        await detector.prepare()
        call = Call(Decision(model), Urgency(math.inf))
        found = [await detector.process(frame, (), call) for frame in frames(clip, most)]
        return found, engine.processor_s(model) or 0.0
    finally:
        await engine.stop()


def answers(clip: Path, most: int | None, models: Path, model: str) -> tuple[Found, float]:
    """The same, for who has no event loop."""
    return asyncio.run(recorded(clip, most, models, model))


def copies(regions: list[Region]) -> list[Region]:
    """The regions as new objects."""
    return [replace(region) for region in regions]
