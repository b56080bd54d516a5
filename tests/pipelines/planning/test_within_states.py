"""Nodes that name no model: which of several answers, by the states of models."""

from __future__ import annotations

from collections.abc import Mapping
from math import inf
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.decision import Decision, Rung
from pipelines.planning.planner import Planner, Step
from pipelines.planning.within import ModelStanding, Seconds, WithinStates
from serving.scheduling.health import State
from serving.selection import Requirements

STATES: tuple[State, ...] = get_args(State)
INACTIVE, ACTIVE, OVERLOADED, INTERFERED = STATES
MODELS = ("large", "middle", "small")
SECONDS = {"large": {1: 0.040}, "middle": {1: 0.010, 8: 0.04}, "small": {1: 0.004, 8: 0.02}}
FAST = Requirements(latency_s=0.020)


class Laddered(Planner):
    """All models have the time for eight objects."""

    def plan(self, step: Step) -> Decision:
        ladder = [Rung(model, 8, SECONDS[model][1]) for model in MODELS]
        return Decision(MODELS[0], budget_ms=80.0, ladder=ladder, why="nothing to look at")


class Now:
    """The states, as a test says."""

    def __init__(self, **states: State) -> None:
        self.states, self.loads = states, dict.fromkeys(MODELS, 0.0)
        self.nowhere: set[str] = set()

    def __call__(self, now_s: float, seconds: Seconds) -> Mapping[str, ModelStanding]:
        return {
            model: ModelStanding(self.states.get(model, ACTIVE), self.loads[model], model not in self.nowhere)
            for model in seconds
        }


def planner(now: Now, needs: Requirements | None = None, seconds: Seconds = SECONDS) -> WithinStates:
    return WithinStates(Laddered(), {"type": needs or Requirements()}, lambda: seconds, now)


def plan(planned: WithinStates, now_s: float = 0.0, node: str = "type", objects: int = 1) -> Decision:
    step = Step("cam", node, MODELS, now_s, now_s + 0.1, 0.0)
    return planned.plan(step).chosen_for(objects, lambda _model: True)


def test_the_best_answers_where_none_is_in_trouble() -> None:
    found = plan(planner(Now()))
    assert (found.variant, found.why) == ("large", "takes 40 of 80 ms")


@pytest.mark.parametrize("state", [OVERLOADED, INTERFERED])
def test_a_model_in_trouble_is_passed_over_and_it_is_said(state: State) -> None:
    found = plan(planner(Now(large=state)))
    assert found.variant == "middle"
    assert found.why.endswith(f"; large is {state}")


def test_it_answers_where_there_is_no_other() -> None:
    found = plan(planner(Now(large=INTERFERED, middle=OVERLOADED, small=OVERLOADED)))
    assert found.variant == "large"
    assert found.why.endswith("; all models are overloaded or interfered")


@pytest.mark.parametrize("needs", [Requirements(), Requirements(latency_s=0.020), Requirements(latency_s=0.001)])
def test_models_that_a_placement_has_nowhere_are_asked_only_where_it_has_none(needs: Requirements) -> None:
    now = Now()
    planned = planner(now, needs)
    now.nowhere = {"large", "small"}
    found = plan(planned)
    assert found.variant == "middle"
    if needs.latency_s == inf:
        assert found.why.endswith("; large is placed nowhere")
    now.nowhere = {"large", "middle"}  # the fleet is placed anew
    assert plan(planned, 10.0).variant == "small"
    now.nowhere = set(MODELS)
    assert plan(planner(now, needs)).variant == plan(planner(Now(), needs)).variant


def test_other_nodes_are_left_as_they_are() -> None:
    assert plan(planner(Now(large=OVERLOADED)), node="colour").variant == "large"


def test_of_those_that_meet_the_needs_the_least_loaded_is_asked_until_it_is_in_trouble() -> None:
    now = Now()
    now.loads |= {"middle": 0.5, "small": 0.1}
    planned = planner(now, FAST)
    found = plan(planned)
    assert found.variant == "small"
    assert found.why.endswith("; the least loaded of the active variants that meet the requirements")
    now.loads |= {"middle": 0.0, "small": 0.9}
    assert plan(planned, 5.0).variant == "small"
    now.states["small"] = OVERLOADED
    assert plan(planned, 5.5).variant == "small"  # looked at once a second
    assert plan(planned, 10.0).variant == "middle"
    now.states["middle"] = INTERFERED
    found = plan(planned, 20.0)
    assert found.variant == "large"  # it is free, and comes closest
    assert "would meet all requirements but is" in found.why
    now.states = {}
    assert plan(planned, 30.0).variant == "middle"


def test_what_is_in_memory_goes_before_what_must_be_loaded() -> None:
    assert plan(planner(Now(middle=INACTIVE, small=INACTIVE), FAST)).variant == "small"
    assert plan(planner(Now(middle=ACTIVE, small=INACTIVE), FAST)).variant == "middle"


def test_cost_counts_in_the_best_batch() -> None:
    assert plan(planner(Now(), Requirements(cost=0.0026))).variant == "small"


def test_without_times_nothing_is_required() -> None:
    assert plan(planner(Now(), FAST, {})).variant == "large"


@given(
    st.lists(st.sampled_from(STATES), min_size=3, max_size=3),
    st.sampled_from([inf, 0.05, 0.020, 0.005, 0.001]),
    st.integers(1, 8),
)
def test_trouble_is_asked_only_where_there_is_nothing_else(states: list[State], latency_s: float, objects: int) -> None:
    found = plan(
        planner(Now(**dict(zip(MODELS, states, strict=True))), Requirements(latency_s=latency_s)), 0.0, "type", objects
    )
    free = [model for model, state in zip(MODELS, states, strict=True) if state in (ACTIVE, INACTIVE)]
    assert found.variant in (free or MODELS)
    meeting = [model for model in free if SECONDS[model][1] <= latency_s]
    assert found.variant in (meeting or free or MODELS)
