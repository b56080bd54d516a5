"""The messages in which a process says how busy it is: what has changed since the last one, and what is told early."""

from __future__ import annotations

import secrets
import socket
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from math import inf, sqrt
from typing import Literal

from operators.wire import bounds
from operators.wire.fleet import MOST_INSTEAD, MOST_SESSIONS
from operators.wire.schema import AskedSession, LoadState, ProcessLoad, TimedModel
from pipelines.measure.process_meter import NetworkUse, ProcessMeter, latency_ratio, recent
from serving.common.threads import usable_cores
from serving.remote.session_meter import Key, SessionCounts, SessionMeter
from serving.scheduling.device import DeviceStats
from serving.scheduling.health import Observed, State, next_state

LARGE = 0.2
"""A rate that differs by more than this share is told at once."""
SURE = 3.0
"""… if it differs by more than chance makes it, in standard deviations of a count."""
FEW = 5
PROFILES_S = 300.0
"""Time between two messages with profiles, where nothing new is known."""


@dataclass(frozen=True)
class ProcessFacts:
    """A process, as it is while it runs."""

    id: str
    kind: Literal["worker", "backend"]
    name: str = ""
    url: str = ""
    device: str = "cpu"
    memory_bytes: int = 0
    instead: Mapping[str, Sequence[str]] | None = None
    """By model: those that may answer in its place."""


@dataclass(frozen=True)
class Seen:
    """Counts at one moment."""

    at_s: float
    sessions: Mapping[Key, tuple[int, int, int]]
    """By model and SLO: items that were asked for, served, late."""
    networks: Mapping[str, NetworkUse]
    device: DeviceStats
    processor_s: float


class LoadReport:
    """Used from one event loop; ``now_s`` is that of a steady clock."""

    def __init__(
        self,
        facts: ProcessFacts,
        meter: ProcessMeter,
        sessions: SessionMeter,
        profiles: Callable[[Mapping[str, NetworkUse]], Sequence[TimedModel]],
        now_s: float,
        processor_s: Callable[[], float] = time.process_time,
    ) -> None:
        """``profiles`` looks up the times of models on this device; ``processor_s``: that the process has used."""
        self.facts = facts
        self._meter, self._sessions, self._profiles = meter, sessions, profiles
        self._processor_s = processor_s
        self.stats: Callable[[], DeviceStats] = DeviceStats
        """The counters of the process's device, once there is one."""
        self._last = self._seen(now_s)
        self._rates: dict[Key, float] = {}
        """Asked items per second, as they were told last."""
        self._ready: list[str] = []
        self._known: Mapping[str, TimedModel] = {}
        self._profiled_s = -inf
        self._states: dict[str, State] = {}
        self.epoch = 0
        """The placement that the process obeys."""
        self.leaving = False
        """Whether it takes no more work."""
        self._told = 0, False

    def next(self, at: datetime, now_s: float) -> ProcessLoad:
        """Say what has happened since the last time."""
        seen, before = self._seen(now_s), self._last
        passed_s = max(now_s - before.at_s, 1e-3)
        profiles = self._news(seen, now_s)
        self._last, self._told, self._ready = seen, (self.epoch, self.leaving), ready_at(seen)
        facts = self.facts
        return ProcessLoad(
            id=facts.id,
            kind=facts.kind,
            at=at,
            name=bounds.word(facts.name),
            url=facts.url,
            device=facts.device,
            memory_bytes=facts.memory_bytes,
            memory_free_bytes=max(0, facts.memory_bytes - self._meter.loaded_bytes),
            busy=bounds.share(busy_s(before, seen, usable_cores()) / passed_s),
            lag=self._meter.lag,
            epoch=self.epoch,
            leaving=self.leaving,
            ready=self._ready,
            sessions=self._asked(seen, before, passed_s),
            profiles=list(profiles),
        )

    def changed(self, now_s: float) -> bool:
        """Whether something has changed so much that it should be told at once."""
        if (self.epoch, self.leaving) != self._told:
            return True
        seen, passed_s = self._seen(now_s), now_s - self._last.at_s
        if ready_at(seen) != self._ready:
            return True
        for key, (asked, _, _) in seen.sessions.items():
            expected = self._rates.get(key, 0.0) * passed_s
            apart = abs(asked - self._last.sessions.get(key, (0, 0, 0))[0] - expected)
            if apart > LARGE * expected and apart > SURE * sqrt(expected) + FEW:
                return True
        return False

    def profiles_changed(self) -> None:
        """More is known of the models here: the next message tells it."""
        self._profiled_s = -inf

    def _news(self, seen: Seen, now_s: float) -> Sequence[TimedModel]:
        """The profiles, where there are others than were told, or they were told long ago."""
        due = now_s - self._profiled_s >= PROFILES_S
        if not due and all(name in self._known for name in ready_at(seen)):
            return ()
        known = {each.model: each for each in self._profiles(seen.networks)[:MOST_SESSIONS]}
        if not due and known.keys() <= self._known.keys():
            return ()
        self._known, self._profiled_s = known, now_s
        return list(known.values())

    def _asked(self, seen: Seen, before: Seen, passed_s: float) -> list[AskedSession]:
        found, self._rates = [], {}
        for key, counts in list(self._sessions.sessions.items())[:MOST_SESSIONS]:
            now, then = seen.sessions[key], before.sessions.get(key, (0, 0, 0))
            asked, served, late = (max(0, new - old) for new, old in zip(now, then, strict=True))
            self._rates[key] = asked / passed_s
            use = recent(seen.networks.get(counts.model), before.networks.get(counts.model))
            profile = self._known.get(counts.model)
            seconds = {} if profile is None else {time.batch: time.ms / 1000 for time in profile.times}
            found.append(
                AskedSession(
                    model=counts.model,
                    slo_ms=round(counts.slo_s * 1000, 3),
                    priority=counts.priority,
                    asked=round(asked / passed_s, 3),
                    served=round(served / passed_s, 3),
                    late=bounds.share(late / max(asked, served, late, 1)),
                    mean_batch=_mean_batch(use, counts),
                    latency_ratio=latency_ratio(use, seconds),
                    state=self._state(counts.model, use, seconds, passed_s),
                    instead=list((self.facts.instead or {}).get(counts.model, ()))[:MOST_INSTEAD],
                )
            )
        return found

    def _state(self, model: str, use: NetworkUse, seconds: Mapping[int, float], passed_s: float) -> LoadState:
        if self.facts.kind == "worker" or not seconds:
            return "active"
        most = max(batch / took_s for batch, took_s in seconds.items())
        observed = Observed(use.loaded, use.items / passed_s, latency_ratio(use, seconds) or 1.0)
        self._states[model] = next_state(self._states.get(model, "inactive"), observed, most)
        return self._states[model]

    def _seen(self, now_s: float) -> Seen:
        sessions = {key: (each.asked, each.served, each.late) for key, each in self._sessions.sessions.items()}
        return Seen(now_s, sessions, self._meter.networks(), self.stats(), self._processor_s())


def busy_s(before: Seen, now: Seen, cores: int) -> float:
    """Seconds that went to what frames wait for: of the device, or of all processors where these are more.

    Decoding and tracking take processors alone, and so do networks on other machines. Networks in the background are
    taken to use all processors.
    """
    background_s = now.device.background_s - before.device.background_s
    device_s = now.device.busy_s - before.device.busy_s - background_s
    return max(device_s, (now.processor_s - before.processor_s) / cores - background_s)


def process_name() -> str:
    """A name in the fleet: this machine's, or its pod's, with a few random digits: another one after every start."""
    host = "".join(each for each in socket.gethostname() if each.isascii() and each.isprintable())
    return f"{host[:200] or 'sluice'}/{secrets.token_hex(4)}"


def ready_at(seen: Seen) -> list[str]:
    """The networks that are loaded, by name."""
    return sorted(name for name, use in seen.networks.items() if use.loaded)[:MOST_SESSIONS]


def _mean_batch(use: NetworkUse, counts: SessionCounts) -> float:
    """The pictures of a batch; where others run the network, of a call."""
    if use.batches:
        return min(use.items / use.batches, 65_536.0)
    return min(counts.asked / counts.calls, 65_536.0) if counts.calls else 0.0
