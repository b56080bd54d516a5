"""A stand-in is named where a query leaves nothing to choose."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from operators.decision import Decision, Rung
from pipelines.measure.stand_ins.planner import Chosen, WithStandIns
from pipelines.planning.planner import Planner, Start, Step

STEP = Step("gate", "type", ("net",), 0.0, 1.0, 0.0)


def test_the_stand_in_of_the_moment_is_named_with_its_reason() -> None:
    chosen: dict[str, Chosen] = {}
    planner = WithStandIns(Planner(), chosen.get)
    before = planner.plan(STEP)
    chosen["type"] = Chosen("net@openvino-bf16", "it costs less")
    after = planner.plan(STEP)
    assert (before.variant, after.variant, after.why) == ("net", "net@openvino-bf16", "it costs less")
    assert (after.budget_ms, after.compared) == (before.budget_ms, False)
    chosen["type"] = chosen["type"]._replace(proven=True)
    assert planner.plan(STEP).compared
    assert planner.plan(STEP._replace(node="other")).variant == "net"


@pytest.mark.parametrize("decided", [Decision("net", ladder=(Rung("net", 1),)), Decision("another"), Decision(None)])
def test_what_another_planner_has_decided_stays(decided: Decision) -> None:
    class Decided(Planner):
        def plan(self, step: Step) -> Decision:
            return replace(decided)

    planner = WithStandIns(Decided(), {"type": Chosen("net@openvino-bf16", "")}.get)
    assert planner.plan(STEP) == decided


def test_the_planner_below_hears_of_everything() -> None:
    heard: list[str] = []

    class Hears(Planner):
        def arrived(self, stream: str, now_s: float) -> None:
            heard.append("arrived")

        def begins(self, start: Start) -> None:
            heard.append("begins")

        def ended(self, stream: str, node: str, took_s: float, plan: Decision) -> Mapping[str, float]:
            heard.append("ended")
            return {"net": took_s}

        def forget(self, stream: str) -> None:
            heard.append("forget")

    planner = WithStandIns(Hears(), dict)
    planner.arrived("gate", 0.0)
    planner.begins(Start("gate", 0.0, 1.0, False, (), False))
    assert planner.ended("gate", "type", 0.5, Decision("net")) == {"net": 0.5}
    planner.forget("gate")
    assert heard == ["arrived", "begins", "ended", "forget"]
