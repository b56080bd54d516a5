"""Frames are skipped, and others found on by a cheaper model: audits of skipped frames ask the reference."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from operators.base import Call
from operators.detect.needed.needed_stream import SkipTerms
from operators.detect.needed.operator import DetectWhenNeeded
from operators.frames.frame import Frame, Region
from operators.testing.builders import call, make_frame, so_far
from operators.testing.engine import FakeEngine
from tests.operators.detect.needed.test_operator import FPS, Finder, picture, play


class Reference(Finder):
    """Counts the looks of audits."""

    looks = 0

    async def process(self, frame: Frame, regions: Sequence[Region], given: Call) -> list[Region]:
        self.looks += 1
        return await super().process(frame, regions, given)


async def test_audits_ask_the_reference_and_not_the_model_that_ran() -> None:
    planned, reference = Finder(), Finder()
    engine = FakeEngine()
    engine.costs_s["finder"] = 10.0
    operator = DetectWhenNeeded("find", planned, "finder", SkipTerms(0.95, 0.3, engine), reference)
    reference.drifts = True
    await play(operator, [100] * 600)
    await operator.close(10.0)
    (plan,) = operator.plans()["cam"]
    assert plan.audits > 0
    assert plan.switched_off > 0  # the reference finds the object elsewhere
    assert reference.asked == []  # it is asked for audits alone
    assert planned.asked


@pytest.mark.parametrize(("model", "always_two"), [("another", True), ("finder", False)])
async def test_what_another_model_found_is_not_taken_for_the_references(model: str, always_two: bool) -> None:
    reference, engine = Reference(), FakeEngine()
    reference.drifts = True  # it finds the object elsewhere: that is compared with where it found it before
    engine.costs_s["finder"] = 10.0
    operator = DetectWhenNeeded("find", Finder(), "finder", SkipTerms(0.95, 0.3, engine), reference)
    for number in range(400):
        frame = make_frame(number, number / FPS, picture(40 + number % 100), "cam", "run-1")
        await operator.process(frame, (), call(model))
        operator.published(so_far())
    await operator.close(10.0)
    (plan,) = operator.plans()["cam"]
    assert plan.audits > 3
    assert (reference.looks == 2 * plan.audits) == always_two  # one for the frame, one for the frame before


async def test_a_look_that_costs_more_than_the_model_that_runs_is_not_made() -> None:
    engine = FakeEngine()
    engine.costs_s.update({"finder": 10.0, "another": 1e-9})
    operator = DetectWhenNeeded("find", Finder(), "finder", SkipTerms(0.95, 0.3, engine), Finder())
    declined = dict[str, list[str]]()
    for model in ("finder", "another"):
        for number in range(50):
            frame = make_frame(number, number / FPS, picture(100), model)
            declined[model] = list((await operator.process(frame, (), call(model))).declined)
    assert declined == {"finder": [], "another": ["propagated"]}
