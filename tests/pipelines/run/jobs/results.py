"""Results of recordings, for tests of what is done with them."""

from __future__ import annotations

from datetime import UTC, datetime

from operators.wire.schema import BoundingBox, Detection, FrameInfo, Object, Plan, Result


def found(track: int | None, x: float = 0.1, label: str = "car") -> Object:
    box = BoundingBox(x_min=x, y_min=0.1, x_max=x + 0.2, y_max=0.3)
    detection = Detection(bounding_box=box, confidence=0.9, label=label)
    return Object(id=0, label=label, confidence=0.9, track_id=track, detection=detection)


def result(seq: int, *objects: Object, stream: str = "gate", run: str = "q-r", fps: float = 10.0) -> Result:
    at = datetime(2026, 1, 1, tzinfo=UTC)
    frame = FrameInfo(width=64, height=48, media_time_s=seq / fps, captured_at=at)
    plan = Plan(slo_ms=100.0, deadline_met=True)
    kept = list(objects)
    return Result(
        stream=stream, run=run, seq=seq, query="test", frame=frame, outcome="analysed", plan=plan, objects=kept
    )
