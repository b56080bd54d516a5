"""A backend in virtual time: its sessions' requests, one by one, through the turns and the batches of the product."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import merge

from benchmarks.batching_parts.baselines import SlidingWindow
from benchmarks.batching_parts.policy import Policy
from benchmarks.batching_parts.simulation import Ask
from serving.placement.demands import BatchProfile, Profiles
from serving.placement.plan import FleetPlan
from serving.scheduling.batching import TOLERANCE_S
from serving.scheduling.duty_cycle import SessionLoad, most_urgent, next_turn
from serving.scheduling.estimates import Arrivals, LatencyTable
from serving.scheduling.look_ahead import LookAheadPolicy

Key = tuple[str, float]
"""Model and SLO."""
NO_GAP_S = 0.0
"""There is no background work."""


@dataclass
class Line:
    """One session's queue."""

    latency: LatencyTable
    max_batch: int
    window: int = 0
    """The batch of the sliding window of the paper; 0 for the product's policy."""
    waiting: list[Ask] = field(default_factory=list)
    arrivals: Arrivals = field(default_factory=Arrivals)
    beyond: int = 0
    """Requests given up or answered too late."""
    served: int = 0

    @classmethod
    def of(cls, profile: BatchProfile, window: int = 0) -> Line:
        return cls(LatencyTable(profile.latency_s), max(profile.latency_s), window)

    def add(self, ask: Ask) -> None:
        self.waiting.append(ask)
        self.arrivals.note(ask.arrived, ask.deadline - ask.arrived)

    def load(self, name: str, now: float) -> SessionLoad:
        due, places = most_urgent(self.waiting, now, self.latency)
        return SessionLoad(name, self.latency, self.max_batch, len(self.waiting), due, places)

    def run(self, now: float, places: int) -> float:
        """Run the next batch; returns when it ends."""
        known = self.arrivals
        policy: Policy = LookAheadPolicy(known.rate, known.time_s, known.short_s, known.lost)
        if self.window:
            policy, places = SlidingWindow(self.window), self.max_batch
        decision = policy(self.waiting, now, self.latency, min(places, self.max_batch))
        known.left(len(decision.run), len(decision.drop))
        gone = {id(each) for each in (*decision.run, *decision.drop)}
        self.waiting = [each for each in self.waiting if id(each) not in gone]
        end = now + (self.latency(len(decision.run)) if decision.run else 0.0)
        late = sum(end > each.deadline + TOLERANCE_S for each in decision.run)
        self.beyond += len(decision.drop) + late
        self.served += len(decision.run) - late
        return end


def replay(lines: Mapping[Key, Line], arrivals: Mapping[Key, Sequence[float]]) -> None:
    """Serve all arrivals, in seconds, of every session; the lines count what became of them."""
    names = {f"{model} {slo_s}": (model, slo_s) for model, slo_s in lines}
    coming = merge(*(_asks(key, times) for key, times in arrivals.items()))
    upcoming = next(coming, None)
    now, last = 0.0, None
    while True:
        while upcoming is not None and upcoming[0] <= now:
            lines[upcoming[1]].add(Ask(upcoming[0], upcoming[0] + upcoming[1][1]))
            upcoming = next(coming, None)
        turn = next_turn([lines[key].load(name, now) for name, key in names.items()], last, now, NO_GAP_S)
        if turn is not None:
            last = turn.name
            now = lines[names[last]].run(now, turn.places)
        elif upcoming is not None:
            now = upcoming[0]
        else:
            return


def _asks(key: Key, times: Sequence[float]) -> Iterator[tuple[float, Key]]:
    return ((time_s, key) for time_s in times)


def plan_lines(
    plan: FleetPlan, profiles: Profiles, windows: bool = False
) -> list[tuple[dict[Key, Line], dict[Key, float]]]:
    """For each backend of a plan the empty queues and the rates of its sessions; ``windows`` of the planned batches."""
    found: list[tuple[dict[Key, Line], dict[Key, float]]] = []
    for backend in plan.backends:
        rates: dict[Key, float] = {}
        lines: dict[Key, Line] = {}
        for share in backend.sessions:
            key = (share.model, share.slo_s)
            rates[key] = rates.get(key, 0.0) + share.items_per_s
            lines[key] = Line.of(profiles[key[0]][backend.kind], share.batch if windows else 0)
        found.append((lines, rates))
    return found
