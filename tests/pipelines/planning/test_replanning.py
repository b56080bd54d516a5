"""The planner of queries with a choice: what it learns, and what it makes of the time that is left."""

from __future__ import annotations

import sys
from functools import partial
from operator import mul

import pytest

from benchmarks.replanning import tables as table_5
from operators.decision import Decision
from pipelines.planning.options import Option, Table
from pipelines.planning.planner import Start, Step
from pipelines.planning.replanning import TOGETHER, Replanning

NODES = ("detect", "track", "type")
TABLE = Table((Option.of("large", 0.97, lambda n: 0.010 * n), Option.of("small", 0.9, lambda n: 0.002 * n)))


def planner(tables: dict[str, Table] | None = None, tracks: bool = False) -> Replanning:
    return Replanning([[node] for node in NODES], {"type": TABLE} if tables is None else tables, {"type": tracks})


def start(now_s: float = 0.0, slo_s: float = 0.1, **more: object) -> Start:
    given = {"droppable": False, "waiting_s": (), "crowded": False, **more}
    return Start("cam", now_s, now_s + slo_s, **given)  # type: ignore[arg-type]


def step(node: str, now_s: float, deadline_s: float = 0.1) -> Step:
    return Step("cam", node, ["large", "small"] if node == "type" else [], now_s, deadline_s, 0.0)


def ran(model: str | None, objects: int | None) -> Decision:
    return Decision(model, objects=objects)


def most(plan: Decision) -> dict[str, int]:
    return {rung.model: rung.most for rung in plan.ladder}


def test_the_ladder_has_what_fits_into_the_time_that_is_left() -> None:
    plans = planner()
    plans.begins(start())
    found = plans.plan(step("type", 0.045))
    assert found.budget_ms == pytest.approx(55)
    assert most(found) == {"large": 5, "small": 27}


def test_time_that_detection_saves_is_spent_on_recognition_and_time_that_it_loses_is_missing() -> None:
    plans, counts = planner(), []
    for detected_s in (0.020, 0.060, 0.095, 0.2):
        plans.begins(start())
        counts.append(most(plans.plan(step("type", detected_s)))["large"])
    assert counts == [8, 4, 0, 0]


def test_a_node_without_a_choice_is_left_its_time() -> None:
    """Two nodes with a choice share what is left in proportion to their slowest; the one between keeps its own."""
    plans = Replanning([["kind"], ["track"], ["type"]], {"kind": TABLE, "type": TABLE}, {})
    for _ in range(300):
        plans.ended("cam", "track", 0.020, ran(None, None))
    plans.begins(start())
    kind = plans.plan(Step("cam", "kind", ["large", "small"], 0.0, 0.1, 0.0))
    assert kind.budget_ms == pytest.approx(25)  # the longest take 10, 20 and 10 ms: as 25 to 50 to 25
    type_ = plans.plan(Step("cam", "type", ["large", "small"], 0.05, 0.1, 0.0))
    assert type_.budget_ms == pytest.approx(50)


def test_nodes_that_run_at_the_same_time_keep_no_time_from_each_other() -> None:
    tables = {"kind": TABLE, "face": TABLE, "type": TABLE}
    plans = Replanning([["kind"], ["face", "type"]], tables, {})
    plans.begins(start())
    now = {node: plans.plan(Step("cam", node, ["large", "small"], 0.0, 0.1, 0.0)) for node in tables}
    budgets_ms = {node: plan.budget_ms for node, plan in now.items()}
    assert budgets_ms == pytest.approx({"kind": 50, "face": 100, "type": 100})


def test_a_node_that_is_known_to_be_idle_is_left_no_time() -> None:
    plans = Replanning([["kind"], ["track"], ["type"]], {"kind": TABLE, "type": TABLE}, {})
    plans.begins(start())
    budgets_ms = [
        plans.plan(Step("cam", "kind", ["large", "small"], 0.0, 0.1, 0.0, idle)).budget_ms for idle in ((), ["type"])
    ]
    assert budgets_ms == pytest.approx([50, 100])


def budget_ms(plans: Replanning, now_s: float) -> float | None:
    """What the first of three nodes is given of 100 ms, each of which takes 10 ms by its slowest model."""
    plans.begins(start(now_s))
    return plans.plan(Step("cam", "kind", ["large", "small"], now_s, now_s + 0.1, 0.0)).budget_ms


def show(plans: Replanning, *busy: str) -> None:
    """A frame on which these nodes have something to do."""
    for node in ("kind", "face", "type"):
        plans.ended("cam", node, 0.010, ran("large", 1 if node in busy else None))


def test_recognisers_that_never_have_objects_on_the_same_frame_keep_the_time_of_one() -> None:
    tables = {"kind": TABLE, "face": TABLE, "type": TABLE}
    plans, found = Replanning([["kind"], ["face"], ["type"]], tables, {}), list[float | None]()
    for number in range(TOGETHER + 1):
        found.append(budget_ms(plans, float(number)))
        show(plans, "kind", "face" if number % 2 else "type")
    assert found[:-1] == pytest.approx([100 / 3] * TOGETHER)  # for all that is known they may come together
    assert budget_ms(plans, 100.0) == pytest.approx(50)
    show(plans, "kind", "face", "type")
    assert budget_ms(plans, 101.0) == pytest.approx(100 / 3)
    for number in range(TOGETHER):
        show(plans, "kind")
        assert budget_ms(plans, 102.0 + number) == pytest.approx(100 / 3 if number < TOGETHER - 1 else 100)


def test_a_frame_that_was_given_up_says_nothing_of_the_nodes_that_did_not_run() -> None:
    plans = Replanning([["kind"], ["face"], ["type"]], {"kind": TABLE, "face": TABLE, "type": TABLE}, {})
    for number in range(2 * TOGETHER):
        assert budget_ms(plans, float(number)) == pytest.approx(100 / 3)
        plans.ended("cam", "kind", 0.010, ran("large", 1))


def test_what_takes_longer_than_was_measured_fits_less() -> None:
    plans = planner()
    for number in range(300):
        objects = 1 + 9 * (number % 2)
        plans.ended("cam", "type", 2 * 0.002 * objects, ran("small", objects))  # twice what was measured
    plans.begins(start())
    assert most(plans.plan(step("type", 0.0)))["large"] in (4, 5)


def test_what_is_done_around_a_small_model_does_not_bar_a_large_one() -> None:
    plans = planner()
    for _ in range(300):
        plans.ended("cam", "type", 0.010, ran("small", 1))  # five times what was measured
    plans.begins(start())
    assert most(plans.plan(step("type", 0.0)))["large"] == 9


def test_looks_that_did_not_happen_teach_nothing() -> None:
    plans = planner()
    plans.begins(start())
    before = plans.plan(step("type", 0.0))
    for call in (ran("small", 0), ran("small", None), ran("another", 3)):
        plans.ended("cam", "type", 9.0, call)
    plans.begins(start())
    assert plans.plan(step("type", 0.0)).ladder == before.ladder


def test_models_that_nobody_has_measured_run_as_listed_until_they_are() -> None:
    plans = planner({})
    plans.begins(start())
    assert plans.plan(step("type", 0.0)).why == "first listed"
    plans.learn("type", TABLE)
    plans.begins(start())
    assert most(plans.plan(step("type", 0.0))) == {"large": 10, "small": 50}


@pytest.mark.parametrize(
    ("droppable", "tracks", "fallback"), [(True, True, "drop"), (False, True, "reuse"), (False, False, "cheapest")]
)
def test_the_policy_follows_from_the_stream_and_the_node(droppable: bool, tracks: bool, fallback: str) -> None:
    plans = planner(tracks=tracks)
    plans.begins(start(droppable=droppable))
    assert plans.plan(step("type", 0.0)).fallback == fallback


def test_frames_that_come_too_fast_are_hurried_and_calm_ones_are_not() -> None:
    plans = planner()
    for number in range(20):
        plans.arrived("cam", 0.02 * number)
    for _ in range(100):
        plans.ended("cam", "type", 0.030, ran("large", 3))
    plans.begins(start(droppable=True, waiting_s=[0.05, 0.06]))
    hurried = plans.plan(step("type", 0.0))
    assert hurried.budget_ms == pytest.approx(19)
    assert most(hurried)["large"] == 1
    assert hurried.chosen_for(3, lambda model: True).why.startswith("frames wait behind it; ")
    plans.begins(start(droppable=False, waiting_s=[0.05, 0.06]))
    assert plans.plan(step("type", 0.0)).budget_ms == pytest.approx(100)


def test_a_stream_that_is_gone_is_forgotten() -> None:
    plans = planner()
    plans.begins(start())
    plans.forget("cam")
    assert plans.plan(step("type", 0.0)).why == "first listed"
    plans.forget("another")


def test_a_constant_load_is_planned_alike() -> None:
    plans, found = planner(), []
    for number in range(500):
        now_s = 0.2 * number
        plans.arrived("cam", now_s)
        plans.begins(start(now_s))
        plans.ended("cam", "detect", 0.040, ran(None, None))
        plan = plans.plan(step("type", now_s + 0.040, now_s + 0.1)).chosen_for(4, lambda model: True)
        plans.ended("cam", "type", 0.0095 * 4, ran(plan.variant, 4))
        found.append(plan.variant)
    assert set(found) == {"large"}


def test_the_better_network_of_the_80_ms_example_runs_on_every_frame() -> None:
    """GATI, §5.1: detection ends after 20 ms, and 58.34 of the 60 ms that are left are those of SE-LResNet50E-IR."""
    plans, found = Replanning([["objects"], ["faces"], ["vehicles"]], table_5(), {}), []
    for number in range(300):
        now_s = 0.1 * number
        plans.begins(start(now_s, 0.08))
        plans.plan(Step("cam", "objects", [], now_s, now_s + 0.08, 0.0))
        plans.ended("cam", "objects", 0.020, ran("ResNet-18", 1))
        step = Step("cam", "faces", [], now_s + 0.020, now_s + 0.08, 0.0, idle=["vehicles"])
        face = plans.plan(step).chosen_for(1, lambda model: True)
        plans.ended("cam", "faces", 0.05834, ran(face.variant, 1))
        found.append(face.variant)
    assert set(found) == {"SE-LResNet50E-IR"}


def test_frames_on_which_a_node_has_nothing_to_do_make_the_best_plan_cheaper() -> None:
    """A detector that skips two of three frames holds three times as many."""
    hurried = {}
    for skipped in (0, 2):
        plans = planner()
        for number in range(300):
            plans.arrived("cam", 0.020 * number)
            plans.ended("cam", "type", 0.030, ran("large", 3 if number % (1 + skipped) == 0 else None))
        plans.begins(start(droppable=True, waiting_s=[0.065]))
        hurried[skipped] = plans.plan(step("type", 0.0)).hurried
    assert hurried == {0: True, 2: False}


def calls(table: Table, objects: int) -> int:
    """Calls of functions for a frame of three nodes, one of which has a choice, as a measure of work."""
    plans, made = planner({"type": table}), 0

    def count(frame: object, event: str, argument: object) -> None:
        nonlocal made
        made += event in ("call", "c_call")

    for number in range(3):  # the last frame counts: what is made once is made before
        now_s, call = 0.2 * number, ran("m0", objects)
        made = 0
        sys.setprofile(count)
        try:
            plans.arrived("cam", now_s)
            plans.begins(start(now_s))
            plans.plan(step("type", now_s, now_s + 0.1))
            for node in NODES:
                plans.ended("cam", node, 0.01, call)
        finally:
            sys.setprofile(None)
    return made


def test_a_frame_is_planned_in_few_steps_whatever_there_is_to_plan() -> None:
    def table(models: int) -> Table:
        speeds = [(f"m{rank}", 0.01 / (rank + 1)) for rank in range(models)]
        return Table(tuple(Option.of(model, None, partial(mul, item_s)) for model, item_s in speeds))

    few, many = calls(table(2), 1), calls(table(8), 1)
    assert abs(calls(table(2), 60) - few) <= 3  # times are looked up by the number of objects
    assert many - few <= 6 * 6  # each further model is one rung of the ladder
    assert few <= 130
