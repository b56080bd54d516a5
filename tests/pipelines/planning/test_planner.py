"""The plan of a node, and its echo in the result."""

from __future__ import annotations

import msgspec
import pytest

from operators.base import NodeAnswer
from operators.decision import Decision
from operators.wire.schema import NodeDecision
from pipelines.execute.walk import decision
from pipelines.planning.planner import Planner, Step


def test_the_first_listed_model_runs_with_every_shortcut() -> None:
    step = Step("cam", "type", ["small", "big"], now_s=5.0, deadline_s=5.1, after_s=0.0125)
    plan = Planner().plan(step)
    assert (plan.variant, plan.why) == ("small", "first listed")
    assert plan.budget_ms == pytest.approx(87.5)
    assert plan.allows("specialised")
    assert Planner().plan(step._replace(models=[])).variant is None


def test_a_plan_names_the_shortcuts_that_may_answer() -> None:
    plan = Decision("big", frozenset({"reused"}))
    assert plan.allows("reused")
    assert not plan.allows("variant")


def test_the_result_repeats_what_nodes_with_a_model_were_to_do_and_did_not() -> None:
    obeyed = Decision("small", frozenset({"variant", "cached"}), 12.3456, "fits")
    assert decision(Decision(None), NodeAnswer(), {}) is None
    assert decision(obeyed, NodeAnswer(), {"small": 0.0123}) == NodeDecision(
        variant="small",
        shortcuts=["cached", "variant"],
        budget_ms=12.3,
        why="fits",
        expected_ms={"small": 12.3},
    )
    refused = decision(Decision("big"), NodeAnswer(declined={"cached": "nothing was learnt yet"}), {})
    assert msgspec.json.decode(msgspec.json.encode(refused)) == {
        "variant": "big",
        "declined": {"cached": "nothing was learnt yet"},
    }
