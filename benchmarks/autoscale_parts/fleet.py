"""A fleet in virtual time: requests are sent to the instance that is free first, and a way to scale acts every second.

An instance serves as many requests at a time as its rate and latency say. A request that would begin after its SLO is
given up. Instances load for as long as their variant takes, and machines start for half a minute; both are paid from
the moment at which they are ordered.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import heapify, heapreplace
from math import inf

from benchmarks.autoscale_parts.asked import WINDOWS_S, asked_per_s
from benchmarks.autoscale_parts.decide import autoscale
from benchmarks.autoscale_parts.decision import AutoscaleMemory, ScalingAction, WantedMachines
from benchmarks.autoscale_parts.loads import Arrival
from benchmarks.autoscale_parts.profiles import KINDS, STARTS_S
from benchmarks.autoscale_parts.state import Application, Instance, RunningMachine, ScalableVariant, ServingState
from benchmarks.autoscale_parts.terms import WholeTerms
from serving.scheduling.health import Observed, State, next_state

EVERY_S = 1.0
"""The Model-Autoscaler's interval (§5)."""
WINDOW_S = 5.0
"""Loads are those of so many seconds."""


@dataclass(eq=False, slots=True)
class Copy:
    """An instance."""

    variant: ScalableVariant
    machine: str
    ready_s: float
    gone_s: float = inf
    free_s: list[float] = field(default_factory=list)
    state: State = "active"
    served: deque[float] = field(default_factory=deque)

    def __post_init__(self) -> None:
        self.free_s = [self.ready_s] * max(1, round(self.variant.items_per_s * self.variant.latency_s))
        heapify(self.free_s)

    def serve(self, now_s: float) -> float:
        """When a request is done."""
        done_s = max(now_s, self.free_s[0]) + len(self.free_s) / self.variant.items_per_s
        heapreplace(self.free_s, done_s)
        self.served.append(now_s)
        return done_s

    def rate(self, now_s: float) -> float:
        """Requests a second of late."""
        while self.served and self.served[0] < now_s - WINDOW_S:
            self.served.popleft()
        return len(self.served) / WINDOW_S


@dataclass(slots=True)
class Box:
    """A machine."""

    kind: str
    ordered_s: float
    ready_s: float
    gone_s: float = inf


@dataclass(frozen=True, slots=True)
class Served:
    """What became of the requests, and what was paid."""

    requests: int
    in_time: int
    done: int
    instance_cost: float
    machine_cost: float
    kinds: Mapping[str, float]
    """Mean number of instances by variant."""
    history: Sequence[tuple[float, float, float]]
    """By second: requests asked, requests done in time, cost a second of instances."""


@dataclass
class SimulatedFleet:
    """The fleet and its clock."""

    slo_s: Mapping[str, float]
    variants: Sequence[ScalableVariant]
    """Those that may be scaled to; empty: nothing is scaled."""
    copies: list[Copy]
    boxes: dict[str, Box]
    scales_machines: bool
    terms: WholeTerms = field(default_factory=WholeTerms)

    def run(self, arrivals: Sequence[Arrival], seconds: float) -> Served:
        """All requests, in their order."""
        memory, recent = AutoscaleMemory(), {name: deque[float]() for name in self.slo_s}
        tick_s, done, in_time = EVERY_S, 0, 0
        asked_by, good_by, cost_by = Counter[int](), Counter[int](), list[float]()
        for at_s, name in [*arrivals, Arrival(seconds, "")]:
            while tick_s <= at_s:
                cost_by.append(self._cost_per_s(tick_s))
                if self.variants:
                    memory = self._scale(tick_s, recent, memory)
                tick_s += EVERY_S
            if not name:
                break
            recent[name].append(at_s)
            asked_by[int(at_s)] += 1
            done_s = self._send(name, at_s)
            done += done_s < inf
            if done_s <= at_s + self.slo_s[name]:
                in_time += 1
                good_by[int(at_s)] += 1
        history = [(float(asked_by[second]), float(good_by[second]), cost) for second, cost in enumerate(cost_by)]
        means = Counter[str]()
        for copy in self.copies:
            means[copy.variant.id] += (min(copy.gone_s, seconds) - _ordered_s(copy)) / seconds  # type: ignore[assignment]
        return Served(
            len(arrivals), in_time, done, sum(cost_by) * EVERY_S, self._machine_cost(seconds), dict(means), history
        )

    def _send(self, name: str, at_s: float) -> float:
        able = [each for each in self.copies if each.variant.application == name and each.ready_s <= at_s < each.gone_s]
        chosen = min(able, key=lambda each: max(each.free_s[0], at_s) + each.variant.latency_s, default=None)
        if chosen is None or chosen.free_s[0] > at_s + self.slo_s[name]:
            return inf
        return chosen.serve(at_s)

    def _scale(self, now_s: float, recent: Mapping[str, deque[float]], before: AutoscaleMemory) -> AutoscaleMemory:
        decision = autoscale(now_s, self._seen(now_s, recent), before, self.terms)
        last_s = dict[str, float]()
        for action in decision.actions:
            self._act(action, now_s, last_s)
        if self.scales_machines:
            for wanted in decision.wanted:
                self._order(wanted, now_s)
        return decision.memory

    def _seen(self, now_s: float, recent: Mapping[str, deque[float]]) -> ServingState:
        for times in recent.values():
            while times and times[0] < now_s - WINDOWS_S[-1]:
                times.popleft()
        there = [each for each in self.copies if each.gone_s == inf]
        instances = []
        for each in there:
            rate = each.rate(now_s)
            each.state = next_state(each.state, Observed(True, rate), each.variant.items_per_s)
            instances.append(Instance(each.variant.application, each.variant.id, each.machine, each.state, rate))
        work = Counter[str]()
        for each, instance in zip(there, instances, strict=True):
            kind = next(kind for kind in KINDS if kind.name == each.variant.kind)
            share = max(need / kind.resources[name] for name, need in each.variant.needs.items())
            work[each.machine] += share * instance.items_per_s / each.variant.items_per_s  # type: ignore[assignment]
        machines = [
            RunningMachine(name, box.kind, min(work[name], 1.0))
            for name, box in self.boxes.items()
            if box.ready_s <= now_s < box.gone_s
        ]
        asked = [Application(name, asked_per_s(times, now_s), self.slo_s[name]) for name, times in recent.items()]
        return ServingState(KINDS, machines, self.variants, instances, asked)

    def _act(self, action: ScalingAction, now_s: float, last_s: dict[str, float]) -> None:
        """An application's unloads wait for what it loads, ``last_s``."""
        if action.machine is None:
            return
        if action.what == "unload":
            mine = (
                each
                for each in self.copies
                if (each.variant.application, each.variant.id, each.machine)
                == (action.application, action.variant, action.machine)
                and each.gone_s == inf
            )
            next(mine).gone_s = last_s.get(action.application, now_s)
            return
        variant = next(each for each in self.variants if each.key == (action.application, action.variant, action.kind))
        self.copies.append(Copy(variant, action.machine, now_s + variant.load_s))
        last_s[action.application] = max(last_s.get(action.application, 0.0), now_s + variant.load_s)

    def _order(self, wanted: WantedMachines, now_s: float) -> None:
        there = {name: box for name, box in self.boxes.items() if box.kind == wanted.kind and box.gone_s == inf}
        for number in range(len(there), wanted.machines):
            self.boxes[f"{wanted.kind}-{now_s:g}-{number}"] = Box(wanted.kind, now_s, now_s + STARTS_S)
        used = {each.machine for each in self.copies if each.gone_s > now_s}
        for name, box in list(there.items())[: max(len(there) - wanted.machines, 0)]:
            if name not in used and box.ready_s <= now_s:
                box.gone_s = now_s

    def _cost_per_s(self, now_s: float) -> float:
        kinds = {kind.name: kind for kind in KINDS}
        paid = [each for each in self.copies if _ordered_s(each) < now_s <= each.gone_s]
        return sum(each.variant.cost(kinds[each.variant.kind]) for each in paid)

    def _machine_cost(self, seconds: float) -> float:
        price = {kind.name: kind.price_per_s for kind in KINDS}
        return sum(price[box.kind] * (min(box.gone_s, seconds) - box.ordered_s) for box in self.boxes.values())


def _ordered_s(copy: Copy) -> float:
    return max(copy.ready_s - copy.variant.load_s, 0.0) if copy.ready_s else 0.0


Way = Callable[[], SimulatedFleet]
