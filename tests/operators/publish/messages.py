"""Results for tests, with defaults that a test overrides where it matters."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec
import numpy as np

from operators.frames.frame import Frame, frame_of
from operators.wire.schema import Attribute, BoundingBox, Detection, FrameInfo, Model, Object, Plan, Result

AT = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
BOX = BoundingBox(x_min=0.25, y_min=0.25, x_max=0.5, y_max=0.75)
MODEL = Model(name="vehicle-type", version="1", tier="reference")


def attribute(label: str, name: str = "type") -> Attribute:
    """An answer of the reference model."""
    return Attribute(name=name, label=label, confidence=0.9, provenance="oracle", model=MODEL)


def thing(track_id: int | None = None, label: str = "car", *answers: str, **changes: Any) -> Object:
    """An object with these answers."""
    found = Object(
        id=0,
        label=label,
        confidence=0.8,
        track_id=track_id,
        detection=Detection(bounding_box=BOX, confidence=0.8, label=label),
        attributes=[attribute(answer) for answer in answers],
    )
    return msgspec.structs.replace(found, **changes)


def result(seq: int = 0, *objects: Object, stream: str = "yard", run: str = "r1", **changes: Any) -> Result:
    """An analysed frame, ten per second."""
    media_time_s = changes.pop("media_time_s", seq / 10)
    plan = Plan(slo_ms=250, deadline_met=True, latency_ms=34, stages_ms=changes.pop("stages_ms", {}))
    frame = FrameInfo(width=640, height=360, media_time_s=media_time_s, captured_at=AT)
    base = Result(stream=stream, run=run, seq=seq, query="q", frame=frame, outcome="analysed", plan=plan)
    return msgspec.structs.replace(base, objects=list(objects), **changes)


def picture(of: Result, width: int = 64, height: int = 48, grey: int = 90) -> Frame:
    """The frame that a result speaks of."""
    image = np.full((height, width, 3), grey, np.uint8)
    return frame_of(of.id, image, of.frame.media_time_s, of.frame.captured_at)
