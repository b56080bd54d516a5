"""Frames are skipped, and others found on by a cheaper model: audits of skipped frames ask the reference."""

from __future__ import annotations

from operators.detect.needed.operator import Demand, DetectWhenNeeded
from operators.testing.engine import FakeEngine
from tests.operators.detect.needed.test_operator import Finder, play


async def test_audits_ask_the_reference_and_not_the_model_that_ran() -> None:
    planned, reference = Finder(), Finder()
    engine = FakeEngine()
    engine.costs_s["finder"] = 10.0
    operator = DetectWhenNeeded("find", planned, engine, "finder", Demand(0.95, 0.3), reference)
    reference.drifts = True
    await play(operator, [100] * 600)
    await operator.close(10.0)
    (plan,) = operator.plans()["cam"]
    assert plan.audits > 0
    assert plan.switched_off > 0  # the reference finds the object elsewhere
    assert reference.asked == []  # it is asked for audits alone
    assert planned.asked
