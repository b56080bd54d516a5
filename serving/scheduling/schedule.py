"""The schedule of a device: the sessions' queues and the next batch; the time is an argument, nothing is run."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field

from serving.engines.groups import Group
from serving.scheduling.batching import TOLERANCE_S, BatchDecision, fill
from serving.scheduling.duty_cycle import SessionLoad, most_urgent, next_turn
from serving.scheduling.estimates import Arrivals, LatencyEstimate, ProcessorMeter
from serving.scheduling.look_ahead import LookAheadPolicy
from serving.scheduling.requests import Request

BACKGROUND_S = 0.02
"""A background batch is no longer than this, if that leaves it one item: so long a request may have to wait for it."""


@dataclass(eq=False, slots=True)
class Session:
    """A group on the device, the requests that wait for it, and its times."""

    name: str
    group: Group
    max_batch: int
    latency: LatencyEstimate
    waiting: list[Request] = field(default_factory=list)
    background: list[Request] = field(default_factory=list)
    arrivals: Arrivals = field(default_factory=Arrivals)
    processor: dict[str, ProcessorMeter] = field(default_factory=dict)
    """By model of the group."""

    def add(self, request: Request, now: float) -> None:
        urgency = request.urgency
        if urgency.background:
            self.background.append(request)
            return
        self.waiting.append(request)
        if math.isfinite(urgency.deadline):
            self.arrivals.note(now, max(0.0, urgency.deadline - urgency.downstream_s - now))

    def decide(self, now: float, max_batch: int) -> BatchDecision[Request]:
        """The next batch of those that wait, of so many places at most, and whom it is too late for."""
        known = self.arrivals
        policy = LookAheadPolicy(known.rate, known.time_s, known.short_s, known.lost)
        decision = policy(self.waiting, now, self.latency.table, min(max_batch, self.max_batch))
        known.left(len(decision.run), len(decision.drop))
        return decision

    def decide_alone(self, now: float) -> Work:
        """The same where one request is all that waits on the device: without looking for a better batch."""
        (request,) = self.waiting
        in_time = now + self.latency.table(request.items) <= request.deadline - request.downstream_s + TOLERANCE_S
        self.waiting, run = [], in_time or not request.droppable
        self.arrivals.left(int(run), int(not run))
        return Work(self, [request] if run else [], [] if run else [request])

    def meter(self, run: Iterable[Request]) -> ProcessorMeter | None:
        """The meter of a batch's processor time; None where it need not be known, or is of several models."""
        models = {request.model for request in run}
        meter = self.processor.setdefault(models.pop(), ProcessorMeter()) if len(models) == 1 else None
        return meter if meter is not None and meter.is_due() else None

    def load(self, now: float) -> SessionLoad:
        latency = self.latency.table
        due, places = most_urgent(self.waiting, now, latency)
        return SessionLoad(self.name, latency, self.max_batch, len(self.waiting), due, places, len(self.background))

    def forget(self, requests: Iterable[Request]) -> None:
        gone = set(map(id, requests))
        self.waiting = [request for request in self.waiting if id(request) not in gone]
        self.background = [request for request in self.background if id(request) not in gone]


@dataclass(frozen=True, slots=True)
class Work:
    """The device's next step: a batch of one session; dropped requests fail because it is too late for them."""

    session: Session
    run: list[Request]
    dropped: list[Request]


class Schedule:
    """The sessions of one device, served in turn; background work only while nothing else waits."""

    def __init__(self) -> None:
        self._sessions: dict[str, Session] = {}
        self._last: str | None = None

    def add(self, session: Session) -> None:
        self._sessions[session.name] = session

    def remove(self, session: Session) -> None:
        """A group leaves the device; nothing must wait for it."""
        del self._sessions[session.name]

    def replace(self, old: Session, new: Session) -> None:
        """A group takes the place of another, with all that waits for it."""
        new.waiting, new.background, new.arrivals = old.waiting, old.background, old.arrivals
        self.remove(old)
        self.add(new)

    def next(self, now: float) -> Work | None:
        """The next work, whose requests have left their queues; None where nothing waits."""
        for session in self._sessions.values():
            if gone := [each for each in (*session.waiting, *session.background) if each.answer.cancelled()]:
                session.forget(gone)
        waiting = [session for session in self._sessions.values() if session.waiting]
        if len(waiting) == 1 and len(waiting[0].waiting) == 1:
            self._last = waiting[0].name
            return waiting[0].decide_alone(now)
        turn = next_turn([session.load(now) for session in self._sessions.values()], self._last, now, BACKGROUND_S)
        if turn is None:
            return None
        session, self._last = self._sessions[turn.name], turn.name
        if turn.background:
            work = Work(session, fill(session.background, turn.places), [])
        else:
            decision = session.decide(now, turn.places)
            work = Work(session, list(decision.run), list(decision.drop))
        session.forget([*work.run, *work.dropped])
        return work
