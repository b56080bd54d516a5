from __future__ import annotations

from datetime import UTC, datetime

import msgspec

from operators.wire.schema import (
    Attribute,
    BoundingBox,
    Detection,
    FrameInfo,
    Model,
    Object,
    Outcome,
    Plan,
    Result,
)
from pipelines.report.watch_view import TITLES, objects_text, result_line

BOX = BoundingBox(x_min=0.1, y_min=0.1, x_max=0.2, y_max=0.2)
ORACLE = Attribute(
    name="vehicle_type",
    label="truck",
    confidence=0.9,
    provenance="oracle",
    model=Model(name="vehicle-type", version="1", tier="reference"),
)


def an_object(track_id: int | None = 3001, attributes: list[Attribute] | None = None) -> Object:
    detection = Detection(bounding_box=BOX, confidence=0.9, label="moving")
    return Object(
        id=0, label="truck", confidence=0.934, track_id=track_id, detection=detection, attributes=attributes or []
    )


def a_result(outcome: Outcome = "analysed", cause: str | None = None, deadline_met: bool = True) -> Result:
    return Result(
        stream="gate",
        run="run",
        seq=17,
        query="vehicles",
        frame=FrameInfo(
            width=64, height=48, media_time_s=1.0, captured_at=datetime(2026, 5, 4, 13, 2, 1, 250_000, UTC)
        ),
        outcome=outcome,
        cause=cause,
        plan=Plan(slo_ms=100, deadline_met=deadline_met, latency_ms=41.6),
        objects=[an_object(attributes=[ORACLE])] if outcome == "analysed" else [],
    )


def test_a_line_has_its_values_under_their_titles() -> None:
    line = result_line(a_result())
    for title, value in [
        ("CAPTURED", "13:02:01.250"),
        ("STREAM", "gate"),
        ("OUTCOME", "analysed"),
        ("OBJECTS", "truck#3001 0.93 oracle"),
    ]:
        assert line[TITLES.index(title) :].startswith(value)
    assert " 17 " in line
    assert "42 ms " in line


def test_a_missed_deadline_is_marked() -> None:
    assert "42 ms!" in result_line(a_result(deadline_met=False))


def test_the_cause_stands_in_place_of_objects() -> None:
    assert result_line(a_result("dropped", "capture_buffer_full")).endswith("dropped   capture_buffer_full")


def test_objects_in_short() -> None:
    assert objects_text([]) == "-"
    assert objects_text([an_object(track_id=None)]) == "truck 0.93"
    assert objects_text([an_object()] * 8).endswith("truck#3001 0.93, 2 more")


def test_a_latency_that_is_not_known_is_marked() -> None:
    result = a_result(deadline_met=False)
    unknown = msgspec.structs.replace(result, plan=msgspec.structs.replace(result.plan, latency_known=False))
    assert "42 ms!" in result_line(result)
    assert "42 ms?" in result_line(unknown)
