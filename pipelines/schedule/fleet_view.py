"""All that a scheduler knows of a fleet, from what its processes tell. It is told the time; pure but for its state."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import nlargest

from operators.wire.fleet import MOST_SESSIONS
from operators.wire.schema import ProcessLoad, TimedModel
from serving.placement.demands import BatchProfile

NEWEST = 0.5
"""Share of the newest message in a rate."""
LEAST = 0.01
"""A rate below is none, items per second."""
OTHERS = 1.2
"""Backends are asked by others where so many times more comes than workers tell."""
MOST_MEMORY = 2
"""A model is not planned with more than so many times the memory that the median of backends tells."""
WITNESSES = 5
"""Backends whose measurements of a model are kept: the median counts, so that no single one decides."""
Key = tuple[str, float, int]
"""A session: model, SLO in milliseconds, priority."""
Rates = defaultdict[str, defaultdict[Key, float]]
"""By model and session."""


@dataclass(frozen=True, slots=True)
class ViewBounds:
    """More than this is left out."""

    processes: int = 2000
    """Those that were heard of of late; further ones are not heard."""
    profiles: int = 4000
    """Models and kinds of devices that they were measured on."""
    sessions: int = 2000
    """Those with the highest rates count: a plan of so many takes half a minute where backends are too few."""
    message_bytes: int = 256 << 10
    silent_s: float = 16.0
    """A process that was silent for so long is gone: three messages are missing."""


@dataclass(slots=True)
class HeardProcess:
    """One process, by its last message."""

    load: ProcessLoad
    at_s: float
    rates: dict[Key, float] = field(default_factory=dict)
    """Items that it asks for, or is asked for, each second."""


class FleetView:
    """Used from one event loop; ``now_s`` is that of a clock which nobody sets."""

    def __init__(self, bounds: ViewBounds | None = None) -> None:
        self.bounds = bounds or ViewBounds()
        self._heard: dict[str, HeardProcess] = {}
        self._profiles: dict[tuple[str, str], dict[str, TimedModel]] = {}
        """By model and kind of device, then by process: the latest few."""
        self.left_out = 0
        """Messages of processes that there was no room for."""

    def hear(self, load: ProcessLoad, now_s: float) -> None:
        """Take a message in."""
        known = self._heard.get(load.id)
        if known is None and not self._has_room(now_s):
            self.left_out += 1
            return
        asked: defaultdict[Key, float] = defaultdict(float)
        for session in load.sessions:
            asked[session.model, session.slo_ms, session.priority] += session.asked
        before = known.rates if known else dict(asked)
        rates = {key: _mean(before.get(key, 0.0), asked.get(key, 0.0)) for key in asked.keys() | before.keys()}
        kept = nlargest(MOST_SESSIONS, ((rate, key) for key, rate in rates.items() if rate >= LEAST))
        self._heard[load.id] = HeardProcess(load, now_s, {key: rate for rate, key in kept})
        if load.kind == "backend":
            self._make_room(now_s)
            for profile in load.profiles:
                self._learn((profile.model, load.device), load.id, profile)

    def there(self, now_s: float) -> list[HeardProcess]:
        """The processes that take work, by name; the others are forgotten."""
        for name in [name for name, each in self._heard.items() if self._is_gone(each, now_s)]:
            del self._heard[name]
        return sorted(self._heard.values(), key=lambda each: each.load.id)

    def backends(self, now_s: float) -> list[ProcessLoad]:
        return [each.load for each in self.there(now_s) if each.load.kind == "backend"]

    def asked(self, now_s: float) -> dict[Key, float]:
        """Items per second of all sessions.

        Workers tell what they would have. Backends also tell what others ask: of a model they count where that is more.
        Models that answer in each other's place are one, under the first of their names.
        """
        told = self._instead(now_s)
        by_workers, by_backends = Rates(lambda: defaultdict(float)), Rates(lambda: defaultdict(float))
        for each in self.there(now_s):
            rates = by_workers if each.load.kind == "worker" else by_backends
            for (model, slo_ms, priority), rate in each.rates.items():
                model = _first(model, told)
                rates[model][model, slo_ms, priority] += rate
        found: dict[Key, float] = {}
        for model in by_workers.keys() | by_backends.keys():
            wished, came = by_workers[model], by_backends[model]
            found |= came if sum(came.values()) > OTHERS * sum(wished.values()) else wished
        most = sorted(found.items(), key=lambda item: (-item[1], item[0]))[: self.bounds.sessions]
        return dict(sorted(most))

    def instead(self, now_s: float) -> dict[str, list[str]]:
        """By model of ``asked``: others that may serve it."""
        told, found = self._instead(now_s), defaultdict[str, set[str]](set)
        for model, others in told.items():
            first = _first(model, told)
            found[first] |= {model, *others} - {first}
        return {model: sorted(others) for model, others in found.items()}

    def _instead(self, now_s: float) -> dict[str, list[str]]:
        """By model: those that all workers which ask for it take in its place."""
        found: dict[str, list[str]] = {}
        for session in (s for each in self.there(now_s) if each.load.kind == "worker" for s in each.load.sessions):
            known = found.get(session.model, session.instead)
            found[session.model] = [model for model in known if model in session.instead]
        for model, others in list(found.items()):  # those that nobody asks for are like those that are asked
            found |= {each: [model, *set(others) - {each}] for each in others if each not in found}
        return found

    def profiles(self) -> dict[str, dict[str, BatchProfile]]:
        """By model and kind of device."""
        found: defaultdict[str, dict[str, BatchProfile]] = defaultdict(dict)
        for (model, device), told in self._profiles.items():
            ranked = sorted(told.values(), key=lambda each: each.times[-1].ms / each.times[-1].batch)
            factor, memory = self._factor(model, device), _memory([each.memory_bytes for each in told.values()])
            times = {time.batch: factor * time.ms / 1000 for time in ranked[len(ranked) // 2].times}
            found[model][device] = BatchProfile(times, memory)
        return dict(found)

    def prefixes(self) -> dict[str, dict[str, float]]:
        """By model, as most backends that have looked say: digests of its first layers with their share of its work."""
        said: defaultdict[str, list[dict[str, float]]] = defaultdict(list)
        for (model, _), told in self._profiles.items():
            said[model] += [{each.digest: each.share for each in profile.prefixes} for profile in told.values()]
        found: dict[str, dict[str, float]] = {}
        for model, each in said.items():
            looked = [prefixes for prefixes in each if prefixes]
            found[model] = next((most for most in looked if 2 * looked.count(most) > len(looked)), {})
        return found

    def _factor(self, model: str, device: str) -> float:
        """How many times longer than its profile a model takes, where that is so on most backends that run it."""
        sessions = [
            session
            for heard in self._heard.values()
            if heard.load.kind == "backend" and heard.load.device == device
            for session in heard.load.sessions
            if session.model == model and session.latency_ratio is not None
        ]
        ratios = sorted(each.latency_ratio or 1.0 for each in sessions if each.state == "interfered")
        return max(1.0, ratios[len(ratios) // 2]) if 2 * len(ratios) > len(sessions) else 1.0

    def _learn(self, key: tuple[str, str], process: str, profile: TimedModel) -> None:
        if key not in self._profiles and len(self._profiles) >= self.bounds.profiles:
            return
        told = self._profiles.setdefault(key, {})
        told.pop(process, None)
        told[process] = profile
        if len(told) > WITNESSES:
            del told[next(iter(told))]

    def _make_room(self, now_s: float) -> None:
        """Where there are as many profiles as may be, forget those of processes that are gone."""
        if len(self._profiles) >= self.bounds.profiles:
            there = {each.load.id for each in self.there(now_s)}
            self._profiles = {key: told for key, told in self._profiles.items() if told.keys() & there}

    def _has_room(self, now_s: float) -> bool:
        return len(self._heard) < self.bounds.processes or len(self.there(now_s)) < self.bounds.processes

    def _is_gone(self, heard: HeardProcess, now_s: float) -> bool:
        return heard.load.leaving or now_s - heard.at_s > self.bounds.silent_s


def _memory(told: Sequence[int]) -> int:
    """The most that a backend tells, for one that had memory lying free has measured too little; no single one decides.

    >>> _memory([4, 9, 5]), _memory([4, 900, 5]), _memory([7])
    (9, 10, 7)
    """
    return min(max(told), MOST_MEMORY * sorted(told)[len(told) // 2])


def running(backends: Iterable[ProcessLoad]) -> Mapping[str, int]:
    """How many there are of each kind."""
    found: defaultdict[str, int] = defaultdict(int)
    for each in backends:
        found[each.device] += 1
    return dict(found)


def _first(model: str, instead: Mapping[str, Sequence[str]]) -> str:
    """The first in the alphabet of a model and those that answer in its place, and it in theirs."""
    return min([model, *(each for each in instead.get(model, ()) if model in instead[each])])


def _mean(before: float, now: float) -> float:
    return before + NEWEST * (now - before)
