"""One epoch after the other: from the messages of a fleet to its next placement. Told the time; nothing is run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from math import inf

from operators.wire import bounds
from operators.wire.fleet import MOST_BACKENDS, MOST_DEVICE_KINDS, MOST_RATE, MOST_SESSIONS, MOST_SHED
from operators.wire.schema import (
    BackendPlacement,
    FleetPlacement,
    PlacedSession,
    ProcessLoad,
    ShedSession,
    WantedBackends,
)
from pipelines.schedule.cheapest_models import AT_MOST, ModelChoices, placed_for_least
from pipelines.schedule.fleet_view import FleetView, Key, running
from pipelines.schedule.steady import SteadyNumbers, SteadyRates
from serving.autoscale.machines import AutoscaleTerms, wanted_workers
from serving.placement.demands import Demand, DeviceKind, Fleet, FleetBackend
from serving.placement.plan import BackendShare, FleetPlan, SessionShare

WIRE = 0.9
"""Share of a session's time that the backend has; the rest goes to calls."""
UNBOUNDED_BYTES = 1 << 50
"""The memory of a device that does not tell."""
MOST_WORKERS = 10_000
WORKERS = "workers"


@dataclass(frozen=True)
class EpochTerms:
    """Terms that do not come from the fleet itself."""

    kinds: Sequence[DeviceKind] = ()
    """Kinds of machines that can be had, with their prices."""
    frames_for_one: int = 100
    """Frames that may wait for each worker."""
    scaling: AutoscaleTerms = field(default_factory=AutoscaleTerms)


@dataclass(frozen=True)
class EpochStart:
    at: datetime
    now_s: float
    partitions: int = MOST_WORKERS
    """Those of the frames: so many workers have something to do."""


@dataclass(frozen=True)
class EpochTask:
    """The load and the fleet of an epoch; ``plan`` is pure, and takes seconds where sessions are many."""

    backends: Sequence[ProcessLoad]
    choices: ModelChoices
    before: FleetPlan | None
    may_save: bool = True
    """Whether other models may be taken to save cost."""

    def plan(self) -> FleetPlan:
        return placed_for_least(self.choices, self.before, self.may_save)

    def changes_models(self, plan: FleetPlan) -> bool:
        """Whether other models than before serve where several may."""
        free = {
            model
            for each, others in zip(self.choices.demands, self.choices.instead, strict=True)
            if others
            for model in (each.model, *others)
        }
        return free & models_of(plan) != free & models_of(self.before or FleetPlan())


class Epochs:
    def __init__(self, view: FleetView, terms: EpochTerms, leader: str) -> None:
        self._view, self._terms, self._leader = view, terms, leader
        self._rates = SteadyRates()
        self._begin_numbers()
        self._plan: FleetPlan | None = None
        self._last: FleetPlacement | None = None
        self._backends: list[str] = []
        self._changed_s = -inf
        """When other models came to serve."""

    def follow(self, placement: FleetPlacement | None, now_s: float) -> None:
        """Go on from a plan that another scheduler has made; None: there is none."""
        kinds = {each.id: each.device for each in self._view.backends(now_s)}
        self._last, self._plan = placement, None if placement is None else plan_of(placement, kinds)
        self._begin_numbers()
        if placement is not None:
            self._numbers.wanted({each.device: each.wanted for each in placement.wanted}, now_s)
            self._worker_numbers.wanted({WORKERS: placement.workers}, now_s)

    def _begin_numbers(self) -> None:
        self._numbers, self._worker_numbers = (SteadyNumbers(self._terms.scaling.release_s) for _ in range(2))

    def is_due(self, now_s: float) -> bool:
        """Whether something has changed so much that the next epoch begins at once."""
        there = [each.id for each in self._view.backends(now_s)]
        return there != self._backends or self._rates.have_changed(self._view.asked(now_s), now_s)

    def begin(self, now_s: float) -> EpochTask:
        """Begin the next epoch; ``end`` follows."""
        there = self._view.backends(now_s)
        self._backends = [each.id for each in there]
        planned = self._rates.planned(self._view.asked(now_s), now_s)
        kinds = kinds_of(self._terms.kinds, there[:MOST_BACKENDS])
        names = {kind.name for kind in kinds}
        backends = [each for each in there[:MOST_BACKENDS] if each.device in names]
        fleet = Fleet(kinds, [FleetBackend(each.id, each.device) for each in backends])
        profiles = {
            model: {kind: profile for kind, profile in each.items() if kind in names}
            for model, each in self._view.profiles().items()
        }
        others = self._view.instead(now_s)
        instead = [others.get(model, ()) for model, _, _ in planned]
        may_save = now_s - self._changed_s >= self._terms.scaling.horizon_s
        demands = [demand(*each) for each in planned.items()]
        choices = ModelChoices(demands, instead, profiles, fleet, self._view.prefixes())
        return EpochTask(backends, choices, self._plan, may_save)

    def end(self, epoch: int, moment: EpochStart, task: EpochTask, plan: FleetPlan) -> FleetPlacement:
        """The placement, once it is planned."""
        backends, kinds = task.backends, task.choices.fleet.kinds
        numbers = dict(plan.wanted)
        if any(each.cause == "profile" for each in plan.shed) and not backends and kinds:
            # Nobody knows what it costs until one has measured it.
            cheapest = min(kinds, key=lambda kind: kind.price).name
            numbers[cheapest] = max(1, numbers.get(cheapest, 0))
        if task.changes_models(plan):
            self._changed_s = moment.now_s
        self._plan = plan
        self._last = FleetPlacement(
            epoch=epoch,
            at=moment.at,
            leader=self._leader,
            backends=self._told(plan, backends),
            wanted=self._wanted(numbers, kinds, backends, moment.now_s),
            workers=self._workers(moment),
            shed=[
                ShedSession(
                    model=bounds.word(each.model),
                    slo_ms=told_ms(each.slo_s),
                    rate=told_rate(each.items_per_s),
                    priority=each.priority,
                    why=each.reason[: bounds.TEXT_CHARS],
                )
                for each in plan.shed[:MOST_SHED]
            ],
        )
        return self._last

    def _told(self, plan: FleetPlan, backends: Sequence[ProcessLoad]) -> list[BackendPlacement]:
        shares = {each.name: each for each in plan.backends}
        going = {(each.backend, each.model) for each in plan.moves if not each.loads}
        going |= {(each.id, model) for each in (self._last.backends if self._last else ()) for model in each.unload}
        found = []
        for backend in backends:
            share = shares.get(backend.id)
            sessions = [] if share is None else placed_sessions(share)
            served = {session.model for session in sessions}
            unload = [each for each in backend.ready if (backend.id, each) in going and each not in served]
            found.append(
                BackendPlacement(
                    id=backend.id, name=backend.name, url=backend.url, sessions=sessions[:MOST_SESSIONS], unload=unload
                )
            )
        return found

    def _wanted(
        self, numbers: Mapping[str, int], kinds: Sequence[DeviceKind], backends: Sequence[ProcessLoad], now_s: float
    ) -> list[WantedBackends]:
        there = running(backends)
        steady = self._numbers.wanted({kind.name: numbers.get(kind.name, 0) for kind in kinds}, now_s)
        return [
            WantedBackends(device=kind, wanted=min(count, MOST_BACKENDS), running=there.get(kind, 0))
            for kind, count in list(steady.items())[:MOST_DEVICE_KINDS]
        ]

    def _workers(self, moment: EpochStart) -> int:
        workers = [each.load for each in self._view.there(moment.now_s) if each.load.kind == "worker"]
        lag = sum(each.lag for each in workers)
        partitions = min(moment.partitions, MOST_WORKERS)
        busy = [each.busy for each in workers]
        found = wanted_workers(busy, lag, self._terms.frames_for_one, partitions, self._terms.scaling)
        return self._worker_numbers.wanted({WORKERS: found}, moment.now_s)[WORKERS]


def models_of(plan: FleetPlan) -> set[str]:
    return {model for backend in plan.backends for share in backend.sessions for model in share.models}


def demand(key: Key, rate: float) -> Demand:
    model, slo_ms, priority = key
    return Demand(model, planned_s(slo_ms), rate, priority)


def planned_s(slo_ms: float) -> float:
    """The time that a backend has for a session."""
    return round(WIRE * slo_ms / 1000, 6)


def told_ms(slo_s: float) -> float:
    """The session's own time, of that of the backend."""
    return round(slo_s / WIRE * 1000, 3)


def told_rate(items_per_s: float) -> float:
    """A message has a largest rate, and several sessions of one time may together be above it."""
    return min(round(items_per_s, 3), MOST_RATE)


def kinds_of(known: Sequence[DeviceKind], backends: Sequence[ProcessLoad]) -> list[DeviceKind]:
    """The kinds that can be had, and those that are there: with the memory of the smallest, and the price of others.

    Nobody has said how many of these may be had: no message has more than twice as many wanted as there are.
    """
    found = {kind.name: kind for kind in known}
    price = max((kind.price for kind in known), default=1.0)
    for name, there in sorted(running(backends).items()):
        if name not in found:
            memory = min(each.memory_bytes or UNBOUNDED_BYTES for each in backends if each.device == name)
            found[name] = DeviceKind(name, memory, price, max(AT_MOST, 2 * there))
    return list(found.values())[:MOST_DEVICE_KINDS]


def placed_sessions(share: BackendShare) -> list[PlacedSession]:
    """The sessions of a backend as a placement tells them."""
    return [
        PlacedSession(
            model=model,
            slo_ms=told_ms(session.slo_s),
            rate=told_rate(rate),
            batch=session.batch,
            duty_cycle_ms=max(round(share.duty_cycle_s * 1000, 3), 0.001),
            priority=session.priority,
        )
        for session in share.sessions
        for model, rate in session.models.items()
    ]


def plan_of(placement: FleetPlacement, kinds: Mapping[str, str]) -> FleetPlan:
    """The plan of another scheduler, of the backends that are there; ``kinds``: their devices."""
    shares = []
    for backend in placement.backends:
        if backend.sessions and backend.id in kinds:
            sessions = tuple(
                SessionShare(each.model, planned_s(each.slo_ms), each.priority, each.rate, each.batch, rates)
                for each in backend.sessions
                for rates in [{each.model: each.rate}]
            )
            cycle_s = max((each.duty_cycle_ms or 0.0) for each in backend.sessions) / 1000
            shares.append(BackendShare(backend.id, kinds[backend.id], cycle_s, sessions))
    return FleetPlan(tuple(shares), {each.device: each.wanted for each in placement.wanted})
