"""The benchmark of degrading: how its rows are made."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from benchmarks.degrade import ACCURACY, ALONE, PLANNED, Answer, headline, row
from operators.testing import make_region
from operators.wire.schema import Attribute, FrameInfo, Model, Outcome, Plan, Result
from pipelines.execute.objects import objects_of


def answer(phase: str, model: str, outcome: Outcome = "analysed", met: bool = True) -> Answer:
    region = make_region()
    said = Model(name=model, version="1", tier="t")
    region.attributes.append(Attribute(name="type", label="car", confidence=0.9, provenance="oracle", model=said))
    frame = FrameInfo(width=64, height=48, media_time_s=0.0, captured_at=datetime(2026, 1, 1, tzinfo=UTC))
    return Answer(
        phase,
        Result(
            stream="cam",
            run="run",
            seq=0,
            query="degrade",
            frame=frame,
            outcome=outcome,
            plan=Plan(slo_ms=150, deadline_met=met),
            objects=objects_of([region]) if outcome == "analysed" else [],
        ),
    )


def test_what_is_dropped_or_late_counts_as_no_answer() -> None:
    answers = [
        answer("overload", "large"),
        answer("overload", "small"),
        answer("overload", "large", met=False),
        answer("overload", "large", "dropped", met=False),
        answer("calm", "large"),
    ]
    found = row(PLANNED, "overload", answers)
    assert (found["frames"], found["in_time_share"], found["dropped_share"]) == (4, 0.5, 0.25)
    assert found["accuracy_answered"] == pytest.approx((ACCURACY["large"] + ACCURACY["small"]) / 2, abs=1e-4)
    assert found["accuracy_all"] == pytest.approx(found["accuracy_answered"] / 2, abs=1e-4)


def test_the_headline_compares_under_overload() -> None:
    rows = [
        row(way, phase, [answer(phase, "large")]) for way in (PLANNED, ALONE) for phase in ("overload", "calm again")
    ]
    assert headline(rows) == {
        "in_time_share": {PLANNED: 1.0, ALONE: 1.0},
        "accuracy_all": {PLANNED: ACCURACY["large"], ALONE: ACCURACY["large"]},
        "accuracy_after": ACCURACY["large"],
    }
