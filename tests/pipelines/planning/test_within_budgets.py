"""Choices among models that are paid for."""

from collections.abc import Mapping
from math import inf

from operators.decision import FIRST_LISTED, Decision, Rung
from pipelines.planning.planner import Planner, Start, Step
from pipelines.planning.within import ANY_NUMBER, WithinBudgets

MODELS = ("large on gpu", "small")


class Laddered(Planner):
    """Has measured its models."""

    heard: list[str]

    def __init__(self) -> None:
        self.heard = []

    def arrived(self, stream: str, now_s: float) -> None:
        self.heard.append("arrived")

    def begins(self, start: Start) -> None:
        self.heard.append("begins")

    def plan(self, step: Step) -> Decision:
        return Decision("large on gpu", ladder=[Rung("large on gpu", 3, 0.1), Rung("small", 9, 0.01)])

    def ended(self, stream: str, node: str, took_s: float, plan: Decision) -> Mapping[str, float]:
        self.heard.append("ended")
        return {"small": 0.1}

    def forget(self, stream: str) -> None:
        self.heard.append("forget")


def step(node: str = "type", models: tuple[str, ...] = MODELS) -> Step:
    return Step("street", node, models, now_s=5.0, deadline_s=6.0, after_s=0.0)


def test_without_a_budget_and_while_all_is_paid_the_decision_is_the_other_planner_s() -> None:
    plan = Laddered().plan(step())
    assert WithinBudgets(Laddered(), {}).plan(step()) == plan
    assert WithinBudgets(Laddered(), {"type": lambda now_s: dict.fromkeys(MODELS, inf)}).plan(step()) == plan
    assert (
        WithinBudgets(Planner(), {"type": lambda now_s: {"small": 0.0}}).plan(step(models=("small",))).why
        == FIRST_LISTED
    ), "one model alone leaves no choice"


def test_the_ladder_says_for_how_many_objects_each_model_is_paid() -> None:
    asked: list[float] = []

    def paid(now_s: float) -> dict[str, float]:
        asked.append(now_s)
        return {"large on gpu": 2.0, "small": inf}

    plan = WithinBudgets(Laddered(), {"type": paid}).plan(step())
    assert [(rung.most, rung.paid) for rung in plan.ladder] == [(3, 2.0), (9, inf)]
    assert asked == [5.0]
    assert [plan.chosen_for(objects, lambda model: True).variant for objects in (2, 3)] == ["large on gpu", "small"]


def test_models_that_nobody_has_measured_are_chosen_from_too() -> None:
    plan = WithinBudgets(Planner(), {"type": lambda now_s: {"large on gpu": 0.0, "small": inf}}).plan(step())
    assert [rung.most for rung in plan.ladder] == [ANY_NUMBER] * 2
    found = plan.chosen_for(1, lambda model: True)
    assert (found.variant, found.why) == ("small", "the budget pays large on gpu for 0 objects, 1 to look at")


def test_the_other_planner_hears_all() -> None:
    inner = Laddered()
    planner = WithinBudgets(inner, {})
    planner.arrived("street", 1.0)
    planner.begins(Start("street", 1.0, 2.0, False, (), False))
    assert planner.ended("street", "type", 0.1, Decision("small")) == {"small": 0.1}
    planner.forget("street")
    assert inner.heard == ["arrived", "begins", "ended", "forget"]
