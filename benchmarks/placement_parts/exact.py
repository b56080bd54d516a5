"""The exact programme for small instances: how few backends hold every session, each on one.

Shen, 2019, Appendix A: the sessions are partitioned into sets that each keep all SLOs in one duty cycle. Sets are
columns of a set partition, which HiGHS solves; a set fits if it does in one of the cycles at which a batch grows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from math import ceil, floor

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp

from serving.placement.demands import BatchProfile, Demand, DeviceKind, Fleet
from serving.placement.place import place
from serving.scheduling.estimates import LatencyTable


def fewest_backends(asked: Sequence[Demand], profiles: Sequence[BatchProfile], memory_bytes: int) -> int | None:
    """None where a session does not fit a backend of its own."""
    sets = [
        chosen
        for size in range(1, len(asked) + 1)
        for chosen in combinations(range(len(asked)), size)
        if fits([asked[each] for each in chosen], [profiles[each] for each in chosen], memory_bytes)
    ]
    if len({chosen[0] for chosen in sets if len(chosen) == 1}) < len(asked):
        return None
    covers = np.array([[each in chosen for chosen in sets] for each in range(len(asked))], dtype=float)
    solved = milp(
        np.ones(len(sets)),
        constraints=LinearConstraint(covers, 1, 1),
        integrality=np.ones(len(sets)),
        bounds=Bounds(0, 1),
    )
    return round(float(solved.fun))


def fits(asked: Sequence[Demand], profiles: Sequence[BatchProfile], memory_bytes: int) -> bool:
    """Whether there is a duty cycle d with Σ ℓ(⌈r·d⌉) ≤ d and d + ℓ(⌈r·d⌉) ≤ L for every session."""
    models = {each.model: profile.memory_bytes for each, profile in zip(asked, profiles, strict=True)}
    if sum(models.values()) > memory_bytes:
        return False
    tables = [LatencyTable(profile.latency_s) for profile in profiles]
    largest = [max(profile.latency_s) for profile in profiles]
    shortest_s = min(each.slo_s for each in asked)
    cycles = {shortest_s * number / 400 for number in range(1, 401)}
    for each in asked:
        cycles |= {number / each.items_per_s for number in range(1, floor(shortest_s * each.items_per_s) + 1)}
    for seconds in cycles:
        batches = [max(1, ceil(each.items_per_s * seconds - 1e-6)) for each in asked]
        if any(batch > most for batch, most in zip(batches, largest, strict=True)):
            continue
        times = [table(batch) for table, batch in zip(tables, batches, strict=True)]
        in_time = all(seconds + time <= each.slo_s + 1e-9 for time, each in zip(times, asked, strict=True))
        if in_time and sum(times) <= seconds + 1e-9:
            return True
    return False


def instance(rng: np.random.Generator) -> tuple[list[Demand], dict[str, BatchProfile]]:
    """Three to eight sessions, each of 2 to 90 % of a backend."""
    asked: list[Demand] = []
    profiles: dict[str, BatchProfile] = {}
    for number in range(rng.integers(3, 9)):
        fixed, item, slo_s = rng.uniform(0.001, 0.02), rng.uniform(0.0002, 0.005), rng.choice([0.05, 0.1, 0.2, 0.4])
        latency = {size: fixed + size * item for size in (1, 2, 4, 8, 16, 32)}
        most = max(batch / (fixed + batch * item) for batch in range(1, 33) if fixed + batch * item <= slo_s / 2)
        profiles[f"m{number}"] = BatchProfile(latency, int(rng.integers(50, 400)))
        asked.append(Demand(f"m{number}", float(slo_s), float(rng.uniform(0.02, 0.9) * most)))
    return asked, profiles


MEMORY = 1000


def more_than_exact(instances: int, rng: np.random.Generator) -> Iterator[int]:
    """For each instance, how many backends more than the fewest the product wants."""
    for _ in range(instances):
        asked, profiles = instance(rng)
        fewest = fewest_backends(asked, [profiles[each.model] for each in asked], MEMORY)
        assert fewest is not None
        plan = place(
            asked, {name: {"gpu": each} for name, each in profiles.items()}, Fleet((DeviceKind("gpu", MEMORY),))
        )
        yield plan.wanted["gpu"] - fewest
