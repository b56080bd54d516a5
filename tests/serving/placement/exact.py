"""The exact programme for small instances: how few backends hold every session, each on one.

Shen, 2019, Appendix A: the sessions are partitioned into sets that each keep all SLOs in one duty cycle. Sets are
columns of a set partition, which HiGHS solves; a set fits if it does in one of the cycles at which a batch grows.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from math import ceil, floor

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp

from serving.placement.demands import BatchProfile, Demand
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
    return round(solved.fun)


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
