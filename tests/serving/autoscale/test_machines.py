"""The thresholds of §4.2.3 and §6.3.2, workers by their lag, and the file of machine kinds."""

from __future__ import annotations

import pytest

from serving.autoscale.machine_file import machine_kinds
from serving.autoscale.machines import offline_may_run, wanted_machines, wanted_workers
from serving.autoscale.state import Instance, MachineKind, RunningMachine
from serving.autoscale.terms import AutoscaleTerms
from serving.scheduling.health import State
from tests.serving.autoscale.fleets import machines, state

TERMS = AutoscaleTerms()


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
    assert told([0.5, 0.5], [State.INTERFERED] * 2)[0] == 1
    assert told([0.5, 0.5], [State.INTERFERED, State.ACTIVE])[0] == 0


def test_one_more_where_over_eight_of_ten_have_overloaded_variants() -> None:
    assert told([0.5] * 5, [State.OVERLOADED] * 4)[0] == 0
    assert told([0.5] * 5, [State.OVERLOADED] * 5) == (1, "80% of all machines have overloaded variants")


def test_no_more_than_are_allowed() -> None:
    seen = state(1, there=machines(3, busy=0.9))
    kinds = [MachineKind("cpu", 1.0, {"cores": 4}, at_most=3)]
    (cpu,) = wanted_machines(type(seen)(kinds, seen.machines), {"cpu": 5}, {}, TERMS)
    assert (cpu.machines, cpu.why[-26:]) == (3, "no more than 3 are allowed")


@pytest.mark.parametrize(
    ("busy", "lag", "partitions", "workers"),
    [
        ([0.5], 0, 12, 1),
        ([0.5], 2500, 12, 3),
        ([0.5], 2500, 2, 2),
        ([0.9, 0.85], 0, 12, 3),
        ([0.1, 0.1], 0, 12, 1),
        ([0.1, 0.1], 1500, 12, 2),
        ([], 0, 12, 1),
    ],
)
def test_workers_follow_their_lag(busy: list[float], lag: int, partitions: int, workers: int) -> None:
    assert wanted_workers(busy, lag, 1000, partitions, TERMS).machines == workers


def test_offline_work_yields() -> None:
    assert offline_may_run(0.39, [State.ACTIVE, State.INACTIVE], TERMS)
    assert not offline_may_run(0.4, [State.ACTIVE], TERMS)
    assert not offline_may_run(0.1, [State.ACTIVE, State.INTERFERED], TERMS)
    assert not offline_may_run(0.1, [State.OVERLOADED], TERMS)


def test_the_file_of_machine_kinds() -> None:
    kinds, problems = machine_kinds({"machines": {"cpu": {"price_per_hour": 3.6, "resources": {"cores": 8}}}})
    assert (kinds, problems) == ((MachineKind("cpu", 0.001, {"cores": 8.0}),), [])


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ({"resources": {"cores": 8}}, "machines.cpu.price_per_hour"),
        ({"price_per_hour": -1, "resources": {"cores": 8}}, "machines.cpu.price_per_hour"),
        ({"price_per_hour": float("nan"), "resources": {"cores": 8}}, "machines.cpu.price_per_hour"),
        ({"price_per_hour": 1, "resources": {"cores": 0}}, "machines.cpu.resources.cores"),
        ({"price_per_hour": 1, "resources": {}}, "machines.cpu.resources"),
        ({"price_per_hour": 1, "resources": {"cores": 8}, "at_most": 1e9}, "machines.cpu.at_most"),
        ({"price_per_hour": 1, "resources": {"cores": 8}, "colour": "red"}, "machines.cpu.colour"),
    ],
)
def test_a_file_with_a_fault_is_explained(line: dict[str, object], said: str) -> None:
    kinds, problems = machine_kinds({"machines": {"cpu": line}})
    assert kinds == ()
    assert said in str(problems[0])
    assert machine_kinds(["no", "file"])[1]
