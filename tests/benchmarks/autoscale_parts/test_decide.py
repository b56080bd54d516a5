"""Decisions: replicate, upgrade and downgrade, delays, mitigation, and machines."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.autoscale_parts.decide import autoscale
from benchmarks.autoscale_parts.decision import AutoscaleMemory, ScalingAction, ScalingDecision
from benchmarks.autoscale_parts.held import HeldLoad
from benchmarks.autoscale_parts.state import Application, Instance, RunningMachine, ScalableVariant, ServingState
from benchmarks.autoscale_parts.terms import WholeTerms
from serving.errors import BadInput
from tests.benchmarks.autoscale_parts.fleets import KINDS, TABLE_2, machines, state

A = Instance("app", "A", "cpu-0")
B = Instance("app", "B", "inferentia-0")
TERMS = WholeTerms(solve_s=10.0, late=1.0)


def done(decision: ScalingDecision) -> list[tuple[str, str, str | None]]:
    return [(each.what, each.variant, each.machine) for each in decision.actions]


def wanted(decision: ScalingDecision) -> dict[str, int]:
    return {each.kind: each.machines for each in decision.wanted}


def test_nothing_runs_and_the_cheapest_is_loaded() -> None:
    assert done(autoscale(0, state(4, there=machines(2, 2, 2)), terms=TERMS)) == [("load", "A", "cpu-0")]


def test_a_little_more_is_served_by_replicas() -> None:
    decision = autoscale(0, state(6, instances=(A,), there=machines(2, 2, 2)), terms=TERMS)
    assert done(decision) == [("replicate", "A", "cpu-1")]
    assert "6 items/s are asked of app, and what runs serves 5 in time" in decision.actions[0].why


def test_the_slack_is_kept() -> None:
    five = autoscale(0, state(4.9, instances=(A,), there=machines(2, 2, 2)), terms=TERMS)
    assert done(five) == [("replicate", "A", "cpu-1")]
    assert "too little is spare" in five.actions[0].why
    assert autoscale(0, state(4.7, instances=(A,), there=machines(2, 2, 2)), terms=TERMS).actions == ()


def test_a_spike_upgrades_and_loads_come_before_unloads() -> None:
    decision = autoscale(0, state(80, instances=(A,), there=machines(2, 2, 2)), terms=TERMS)
    assert done(decision) == [("upgrade", "B", "inferentia-0"), ("unload", "A", "cpu-0")]


def test_a_stricter_slo_replaces_what_misses_it() -> None:
    decision = autoscale(0, state(4, slo_s=0.05, instances=(A,), there=machines(2, 2, 2)), terms=TERMS)
    assert done(decision) == [("upgrade", "B", "inferentia-0"), ("unload", "A", "cpu-0")]
    assert "does not meet the requirements" in decision.actions[1].why


def test_a_lull_is_believed_late_and_downgrades() -> None:
    seen, memory = state(80, instances=(B,), there=machines(2, 2, 2)), AutoscaleMemory()
    when: list[float] = []
    for second in range(40):
        asked = 80.0 if second < 5 else 4.0
        seen = replace(seen, applications=(Application("app", asked, 0.3),))
        decision = autoscale(float(second), seen, memory, TERMS)
        memory = decision.memory
        if decision.actions:
            when.append(second)
            assert done(decision) == [("downgrade", "A", "cpu-0"), ("unload", "B", "inferentia-0")]
            seen = carried_out(seen, decision)
    assert when == [9], "the spike ended at 4 s, and B takes 4 s to load"


def test_what_loads_slowly_goes_slowly() -> None:
    slow = tuple(replace(each, load_s=30.0) for each in TABLE_2)
    seen = replace(state(80, instances=(B,), there=machines(2, 2, 2)), variants=slow)
    memory = autoscale(0, seen, terms=TERMS).memory
    low = replace(seen, applications=(Application("app", 4, 0.3),))
    assert autoscale(29, low, memory, TERMS).actions == ()
    assert autoscale(31, low, memory, TERMS).actions != ()


def test_a_load_is_held_as_the_most_of_late() -> None:
    load = HeldLoad().then(10, 0, 10)
    assert load.then(12, 1, 10).items_per_s == 12
    assert load.then(3, 10, 10).items_per_s == 10
    assert load.then(7, 5, 10).then(3, 11, 10).items_per_s == 7
    assert load.then(7, 5, 10).then(3, 11, 10).then(2, 16, 10).items_per_s == 3, "each for as long"


def test_an_interfered_instance_goes_where_it_is_calm() -> None:
    other = ScalableVariant("D", "app", "cpu", 1, 0.5, 2, 0.9, {"cores": 2})
    small = replace(TABLE_2[0], needs={"cores": 1.0})
    instances = (
        Instance("app", "A", "cpu-0", "interfered"),
        Instance("rest", "D", "cpu-0", "active"),
    )
    asked = (Application("app", 4.0, 0.3), Application("rest", 0.5))
    variants = (small, replace(other, application="rest"))
    seen = ServingState(KINDS, machines(3, busy=0.5), variants, instances, asked)
    (move,) = autoscale(0, seen, terms=TERMS).moves
    assert (move.variant, move.source, move.target) == ("A", "cpu-0", "cpu-1")
    assert autoscale(0, replace(seen, machines=machines(1, busy=0.5)), terms=TERMS).moves == ()


def test_one_that_is_alone_stays() -> None:
    seen = state(4, instances=(replace(A, state="interfered"),), there=machines(2))
    assert autoscale(0, seen, terms=TERMS).moves == ()


def test_machines_are_wanted_for_what_has_no_room() -> None:
    decision = autoscale(0, state(40, slo_s=0.05, there=machines(2)), terms=TERMS)
    assert wanted(decision) == {"cpu": 2, "inferentia": 1, "gpu": 0}
    (short,) = decision.short
    assert (short.application, short.items_per_s) == ("app", 40)
    assert "no room" in short.why


def test_what_there_is_room_for_is_served_meanwhile() -> None:
    decision = autoscale(0, state(30, there=machines(2)), terms=TERMS)
    assert done(decision) == [("load", "A", "cpu-0"), ("load", "A", "cpu-1")]
    assert wanted(decision) == {"cpu": 2, "inferentia": 1, "gpu": 0}
    assert decision.short[0].items_per_s == pytest.approx(30 * 1.05 - 10)


def test_machines_of_another_kind_are_wanted_where_they_are_clearly_cheaper() -> None:
    seen, memory = state(4, instances=(Instance("app", "C", "gpu-0"),), there=machines(gpu=1)), AutoscaleMemory()
    decision = autoscale(0, seen, memory, TERMS)
    assert (decision.actions, wanted(decision)) == ((), {"cpu": 1, "inferentia": 0, "gpu": 1})
    seen = carried_out(seen, decision)
    decision = autoscale(1, seen, decision.memory, TERMS)
    assert done(decision) == [("downgrade", "A", "cpu-new0"), ("unload", "C", "gpu-0")]
    seen = carried_out(seen, decision)
    decision = autoscale(2, seen, decision.memory, TERMS)
    assert wanted(decision) == {"cpu": 1, "inferentia": 0, "gpu": 1}
    decision = autoscale(123, seen, decision.memory, TERMS)
    assert wanted(decision) == {"cpu": 1, "inferentia": 0, "gpu": 0}
    assert "empty for 120 s" in decision.wanted[2].why


def test_no_variant_meets_the_requirements() -> None:
    (short,) = autoscale(0, state(4, accuracy=0.9), terms=TERMS).short
    assert short.why == "no variant has accuracy 0.9 within 300 ms"


def test_what_is_not_known_is_left_out() -> None:
    strange = (Instance("app", "Z", "cpu-0"), Instance("app", "A", "nowhere"), Instance("none", "A", "cpu-0"))
    seen = replace(state(4, instances=strange), machines=(*machines(1), RunningMachine("x", "tpu")))
    assert done(autoscale(0, seen, terms=TERMS)) == [("load", "A", "cpu-0")]


@pytest.mark.parametrize("asked", [float("nan"), -1.0, float("inf")])
def test_numbers_that_cannot_be_are_refused(asked: float) -> None:
    with pytest.raises(BadInput, match="asks what cannot be"):
        state(asked)
    with pytest.raises(BadInput, match="figures that cannot be"):
        replace(state(1), variants=(replace(TABLE_2[0], load_s=asked),))
    with pytest.raises(BadInput, match="figures that cannot be"):
        replace(state(1), variants=(replace(TABLE_2[0], items_per_s=0.0 * asked),))


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.floats(0.1, 2000), min_size=1, max_size=3),
    st.sampled_from([0.018, 0.05, 0.3]),
    st.integers(0, 6),
    st.integers(0, 3),
    st.integers(0, 2),
)
def test_what_is_asked_is_served_or_said_to_be_short_and_equal_loads_move_nothing(
    asked: list[float], slo_s: float, cpu: int, inferentia: int, gpu: int
) -> None:
    names = [f"app{number}" for number in range(len(asked))]
    variants = tuple(replace(each, application=name) for name in names for each in TABLE_2)
    wants = tuple(Application(name, load, slo_s) for name, load in zip(names, asked, strict=True))
    seen, memory = ServingState(KINDS, machines(cpu, inferentia, gpu), variants, (), wants), AutoscaleMemory()
    for epoch in range(6):
        decision = autoscale(float(epoch), seen, memory, TERMS)
        seen, memory = carried_out(seen, decision), decision.memory
    assert decision.short == ()
    assert (decision.actions, decision.moves) == ((), ())
    served = dict.fromkeys(names, 0.0)
    for instance, variant in seen.running:
        assert variant.latency_s <= slo_s
        served[instance.application] += variant.items_per_s
    assert all(served[name] >= 1.05 * load * (1 - 1e-6) for name, load in zip(names, asked, strict=True))


def carried_out(seen: ServingState, decision: ScalingDecision) -> ServingState:
    """The fleet after a decision: machines come as wanted, instances as there is room for them."""
    instances = list(seen.instances)
    for action in decision.actions:
        if action.machine is not None and action.what == "unload":
            instances.remove(next(each for each in instances if (each.variant, each.machine) == _where(action)))
        elif action.machine is not None:
            instances.append(Instance(action.application, action.variant, action.machine))
    there = list(seen.machines)
    for wanted in decision.wanted:
        mine = [each for each in there if each.kind == wanted.kind]
        there += [RunningMachine(f"{wanted.kind}-new{n}", wanted.kind) for n in range(len(mine), wanted.machines)]
    return replace(seen, machines=tuple(there), instances=tuple(instances))


def _where(action: ScalingAction) -> tuple[str, str | None]:
    return action.variant, action.machine
