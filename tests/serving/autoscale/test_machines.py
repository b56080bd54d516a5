"""When offline work yields, workers by their lag, and the file of machine kinds."""

from __future__ import annotations

import pytest

from serving.autoscale.machine_file import machine_kinds
from serving.autoscale.machines import offline_may_run, wanted_workers
from serving.autoscale.state import MachineKind
from serving.autoscale.terms import AutoscaleTerms
from serving.scheduling.health import State

TERMS = AutoscaleTerms()


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
    assert wanted_workers(busy, lag, 1000, partitions, TERMS) == workers


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
