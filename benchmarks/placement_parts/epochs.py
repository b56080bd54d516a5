"""Ten thousand cameras, epoch after epoch: how long a plan takes, and how much moves when the load does."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from math import pi, sin
from statistics import fmean

import numpy as np

from benchmarks.placement_parts.workloads import KIND, MEMORY, ONE_MS, profile
from serving.placement.demands import Demand, DeviceKind, Fleet, FleetBackend, Profiles
from serving.placement.place import place

CAMERAS = 10_000
SESSIONS, TOO_FEW = 2000, 20
"""Sessions that all differ, and backends that hold a tenth of them."""
MODELS = 20
SLOS_S = (0.1, 0.2, 0.4)
ITEMS_PER_S = 5.0
FLEET = Fleet((DeviceKind(KIND, MEMORY),), [FleetBackend(f"gpu-{number}", KIND) for number in range(200)])
Change = Callable[[int, np.random.Generator], float]
"""What a session's cameras ask for in an epoch, as a share of the first."""


@dataclass(frozen=True)
class Epochs:
    """Means over epochs after the first."""

    backends: float
    anew: float
    """Backends that plans would want which know nothing of the epoch before."""
    placed: float
    """Models on backends, each counted where it is."""
    loads: float
    """Models that a backend has to load, in an epoch."""


def catalogue() -> Profiles:
    """Twenty models with the profiles of the eight architectures."""
    kinds = list(ONE_MS.values())
    return {f"m{number}": {KIND: profile(*kinds[number % len(kinds)])} for number in range(MODELS)}


def cameras(rng: np.random.Generator) -> list[Demand]:
    """One model and SLO each, some models more popular than others."""
    popular = rng.dirichlet(np.ones(MODELS) * 2)
    models = rng.choice(MODELS, CAMERAS, p=popular)
    slos_s = rng.choice(SLOS_S, CAMERAS)
    return [Demand(f"m{model}", float(slo_s), ITEMS_PER_S) for model, slo_s in zip(models, slos_s, strict=True)]


def seconds_of_a_plan(rounds: int) -> Iterator[float]:
    """Processor time of a first plan."""
    asked, profiles = cameras(np.random.default_rng(0)), catalogue()
    for _ in range(rounds):
        started = time.process_time()
        place(asked, profiles, FLEET)
        yield time.process_time() - started


def seconds_with_too_few(rounds: int) -> Iterator[float]:
    """Processor time of a first plan in which most of many sessions are shed, by three priorities."""
    rng, profiles = np.random.default_rng(0), catalogue()
    asked = [
        Demand(f"m{number % MODELS}", float(rng.uniform(0.05, 0.4)), float(rng.uniform(1, 60)), int(rng.integers(3)))
        for number in range(SESSIONS)
    ]
    fleet = Fleet(FLEET.kinds, FLEET.backends[:TOO_FEW])
    for _ in range(rounds):
        started = time.process_time()
        plan = place(asked, profiles, fleet)
        yield time.process_time() - started
        assert len(plan.shed) > SESSIONS / 2


def epochs(change: Change, number: int) -> Epochs:
    """The same cameras, their sessions changing each by itself."""
    rng, asked, profiles = np.random.default_rng(1), cameras(np.random.default_rng(0)), catalogue()
    plan = place(asked, profiles, FLEET)
    factors = dict.fromkeys({(each.model, each.slo_s) for each in asked}, 1.0)
    backends, anew, placed, loads = list[int](), list[int](), list[int](), list[int]()
    for epoch in range(1, number + 1):
        factors = {key: factors[key] * change(epoch, rng) for key in sorted(factors)}
        now = [replace(each, items_per_s=ITEMS_PER_S * factors[each.model, each.slo_s]) for each in asked]
        plan = place(now, profiles, FLEET, plan)
        assert not plan.shed
        backends.append(len(plan.backends))
        anew.append(place(now, profiles, FLEET).wanted[KIND])
        placed.append(len({(each.name, share.model) for each in plan.backends for share in each.sessions}))
        loads.append(sum(move.loads for move in plan.moves))
    return Epochs(fmean(backends), fmean(anew), fmean(placed), fmean(loads))


def drift(share: float) -> Change:
    """Each session by chance, up or down by up to so much, from one epoch to the next."""
    return lambda epoch, rng: float(np.exp(rng.uniform(-share, share)))


def day(epoch: int, rng: np.random.Generator) -> float:
    """All together between half and one and a half times, once in 48 epochs, with 1 % of chance each."""
    level = [1 + 0.5 * sin(2 * pi * each / 48) for each in (epoch - 1, epoch)]
    return level[1] / level[0] * drift(0.01)(epoch, rng)


LOADS: dict[str, Change] = {
    "equal": lambda epoch, rng: 1.0,
    "±2 %": drift(0.02),
    "±10 %": drift(0.1),
    "a day": day,
}
