"""Fleets for tests: Table 2 of Romero et al., 2021, and small random programmes."""

from __future__ import annotations

from itertools import product

from benchmarks.autoscale_parts.programme import Programme
from benchmarks.autoscale_parts.state import (
    Application,
    Instance,
    Key,
    MachineKind,
    RunningMachine,
    ScalableVariant,
    ServingState,
)

KINDS = (
    MachineKind("cpu", 0.25, {"cores": 4}, at_most=400),
    MachineKind("inferentia", 3.0, {"chips": 1}, at_most=400),
    MachineKind("gpu", 16.0, {"gpus": 1}, at_most=400),
)
TABLE_2 = (
    ScalableVariant("A", "app", "cpu", 5, 0.200, 2, 0.75, {"cores": 4}, 1),
    ScalableVariant("B", "app", "inferentia", 100, 0.020, 4, 0.75, {"chips": 1}, 3),
    ScalableVariant("C", "app", "gpu", 800, 0.015, 8, 0.75, {"gpus": 1}, 16),
)


def machines(cpu: int = 0, inferentia: int = 0, gpu: int = 0, busy: float = 0.0) -> tuple[RunningMachine, ...]:
    counts = (("cpu", cpu), ("inferentia", inferentia), ("gpu", gpu))
    return tuple(RunningMachine(f"{kind}-{number}", kind, busy) for kind, count in counts for number in range(count))


ROOMY = machines(200, 20, 10)


def state(
    items_per_s: float,
    slo_s: float = 0.3,
    instances: tuple[Instance, ...] = (),
    there: tuple[RunningMachine, ...] = ROOMY,
    accuracy: float = 0.0,
) -> ServingState:
    return ServingState(KINDS, there, TABLE_2, instances, (Application("app", items_per_s, slo_s, accuracy),))


def brute_force(given: Programme, most: int) -> tuple[float, float]:
    """The least weighted shortfall and then the least cost, of all numbers of instances up to ``most``."""
    best = (float("inf"), float("inf"))
    for numbers in product(range(most + 1), repeat=len(given.candidates)):
        counts: dict[Key, int] = {each.key: n for each, n in zip(given.candidates, numbers, strict=True)}
        if all(n <= each.running or each.items_per_s for each, n in zip(given.candidates, numbers, strict=True)):
            taken = dict.fromkeys(given.pools, 0.0)
            for each, n in zip(given.candidates, numbers, strict=True):
                for pool, need in each.needs.items():
                    taken[pool] += need * n
            if all(taken[pool] <= size + 1e-9 for pool, size in given.pools.items()):
                best = min(best, (round(given.unserved(counts), 6), given.objective(counts)))
    return best
