"""Two ways to place sessions on a fixed number of backends: the product's, and the batch-oblivious one of the paper."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from benchmarks.placement_parts.workloads import KIND, MEMORY, Scenario
from serving.placement.curves import ServedSession, sessions_of
from serving.placement.demands import Demand, DeviceKind, Fleet, FleetBackend
from serving.placement.place import place
from serving.placement.plan import BackendShare, FleetPlan, SessionShare

GPU = DeviceKind(KIND, MEMORY)
STEPS = 24


def scaled(demands: Sequence[Demand], factor: float) -> list[Demand]:
    return [replace(each, items_per_s=each.items_per_s * factor) for each in demands]


def ours(scenario: Scenario) -> tuple[FleetPlan, float]:
    """The plan for the most that the product places on the backends, and how many times the rates that is."""
    names = [FleetBackend(f"gpu-{number}", KIND) for number in range(scenario.backends)]

    def planned(factor: float) -> FleetPlan:
        return place(scaled(scenario.demands, factor), scenario.profiles, Fleet((GPU,), names))

    low, high = 1.0, 1.0
    while not planned(high).shed:
        low, high = high, 2 * high
    for _ in range(STEPS):
        middle = (low + high) / 2
        low, high = (low, middle) if planned(middle).shed else (middle, high)
    return planned(low), low


def oblivious(scenario: Scenario) -> tuple[FleetPlan, float]:
    """Backends by share (§3.6.1): rate over the most that a session alone would have of a backend, all shares scaled to
    fill the backends; whole ones first, then each rest, the largest first, to the backend that is least taken.
    """
    sessions = sessions_of(scenario.demands, scenario.profiles, (GPU,))
    shares = [each.rate / each.saturated[KIND][1] for each in sessions]
    factor = scenario.backends / sum(shares)
    taken = [0.0] * scenario.backends
    placed: list[list[tuple[ServedSession, float]]] = [[] for _ in taken]
    wholes = [(1.0, each) for share, each in zip(shares, sessions, strict=True) for _ in range(int(share * factor))]
    rests = [(share * factor % 1, each) for share, each in zip(shares, sessions, strict=True)]
    for part, session in [*wholes, *sorted(rests, key=lambda each: -each[0])]:
        place_ = min(range(len(taken)), key=taken.__getitem__)
        taken[place_] += part
        placed[place_].append((session, part * session.saturated[KIND][1]))
    return FleetPlan([_share(number, each) for number, each in enumerate(placed) if each]), factor


def _share(number: int, sessions: Sequence[tuple[ServedSession, float]]) -> BackendShare:
    shares = (
        SessionShare(each.key.model, each.key.slo_s, 0, rate, each.saturated[KIND][0], each.rates(rate))
        for each, rate in sessions
    )
    return BackendShare(f"gpu-{number}", KIND, 0.0, tuple(shares))
