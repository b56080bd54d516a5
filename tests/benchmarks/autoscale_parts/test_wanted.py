"""The thresholds of Romero et al., 2021, §4.2.3."""

from __future__ import annotations

from benchmarks.autoscale_parts.state import Instance, MachineKind, RunningMachine
from benchmarks.autoscale_parts.terms import WholeTerms
from benchmarks.autoscale_parts.wanted import wanted_machines
from serving.scheduling.health import State
from tests.benchmarks.autoscale_parts.fleets import machines, state

TERMS = WholeTerms()


def told(busy: list[float], states: list[State]) -> tuple[int, str]:
    there = tuple(RunningMachine(f"cpu-{n}", "cpu", each) for n, each in enumerate(busy))
    instances = tuple(Instance("app", "A", f"cpu-{n}", each) for n, each in enumerate(states))
    cpu, _, _ = wanted_machines(state(1, instances=instances, there=there), {}, {}, TERMS)
    return cpu.machines - len(busy), cpu.why


def test_one_more_where_all_are_busy() -> None:
    assert told([0.81, 0.9], []) == (1, "all are busy beyond 80%")
    assert told([0.79, 0.9], []) == (0, "as there are")
    assert told([], []) == (0, "as there are")


def test_one_more_where_variants_are_interfered_on_all() -> None:
    assert told([0.5, 0.5], ["interfered"] * 2)[0] == 1
    assert told([0.5, 0.5], ["interfered", "active"])[0] == 0


def test_one_more_where_over_eight_of_ten_have_overloaded_variants() -> None:
    assert told([0.5] * 5, ["overloaded"] * 4)[0] == 0
    assert told([0.5] * 5, ["overloaded"] * 5) == (1, "80% of all machines have overloaded variants")


def test_no_more_than_are_allowed() -> None:
    seen = state(1, there=machines(3, busy=0.9))
    kinds = [MachineKind("cpu", 1.0, {"cores": 4}, at_most=3)]
    (cpu,) = wanted_machines(type(seen)(kinds, seen.machines), {"cpu": 5}, {}, TERMS)
    assert (cpu.machines, cpu.why[-26:]) == (3, "no more than 3 are allowed")
