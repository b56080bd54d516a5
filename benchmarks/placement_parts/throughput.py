"""The most that a plan serves: the load at which 99 % of the requests are in time (§3.6.1)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from benchmarks.placement_parts.replay import plan_lines, replay
from datasets.request_times import poisson
from serving.placement.demands import Profiles
from serving.placement.plan import FleetPlan

IN_TIME = 0.99
STEPS = 7


@dataclass(frozen=True)
class Runtime:
    """How requests come, and how backends make batches of them."""

    arrivals: str
    """``even`` or ``poisson``."""
    windows: bool = False
    """The sliding windows of the paper, in place of the product's batches."""
    seconds: float = 4.0


def most_load(plan: FleetPlan, profiles: Profiles, runtime: Runtime) -> float:
    """How many times the rates of the plan, by halving to a hundredth."""
    low, high = 0.25, 2.0
    for _ in range(STEPS):
        middle = (low + high) / 2
        total, beyond = served(plan, profiles, runtime, middle)
        low, high = (middle, high) if beyond <= (1 - IN_TIME) * total else (low, middle)
    return low


def served(plan: FleetPlan, profiles: Profiles, runtime: Runtime, load: float = 1.0) -> tuple[int, int]:
    """All requests, and those beyond their SLO."""
    rng = np.random.default_rng(0)
    total = beyond = 0
    for lines, rates in plan_lines(plan, profiles, runtime.windows):
        times = {key: _times(runtime, load * rate, rng) for key, rate in rates.items()}
        replay(lines, times)
        total += sum(map(len, times.values()))
        beyond += sum(line.beyond for line in lines.values())
    return total, beyond


def _times(runtime: Runtime, rate: float, rng: np.random.Generator) -> list[float]:
    if runtime.arrivals == "poisson":
        return list(poisson(rate, runtime.seconds, rng))
    return [*map(float, np.arange(rng.random() / rate, runtime.seconds, 1 / rate))]
