"""Turns of the sessions that share a device, and how long each is (Shen, 2019, §3.2.1 and §3.5.2).

Sessions run one after the other, round and round, never at once: so each one's time is known. One pass over all that
wait is a duty cycle, and nobody waits longer than that for a turn. A session's batch takes what the others leave: after
it, each of them in its turn must still be able to answer its most urgent request in time. Background work has the
device only while no session waits.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import inf

from serving.scheduling.batching import TOLERANCE_S, Latency, WaitingRequest


@dataclass(frozen=True, slots=True)
class SessionLoad:
    name: str
    latency: Latency
    max_batch: int
    waiting: int = 0
    """Requests."""
    due: float = inf
    """When the most urgent of those that can still be in time must leave the network."""
    urgent_items: int = 0
    """The places of that request; 0 where none can be in time."""
    background: int = 0
    """Requests that do not hurry at all."""


@dataclass(frozen=True, slots=True)
class SessionTurn:
    name: str
    places: int
    """At most so many in its batch, or one request that is larger."""
    background: bool = False
    """The turn is for background work."""


def most_urgent(queue: Sequence[WaitingRequest], now: float, latency: Latency) -> tuple[float, int]:
    """When the most urgent request that can be in time is due, and its places; infinite and 0 where none can be."""
    able = ((each.deadline - each.downstream_s, each.items) for each in queue)
    return min((each for each in able if now + latency(each[1]) <= each[0]), default=(inf, 0))


def next_turn(loads: Sequence[SessionLoad], last: str | None, now: float, gap_s: float) -> SessionTurn | None:
    """The first session after ``last``, in the order given and round again, that has something waiting.

    Where none has, background work gets a turn of ``gap_s`` seconds at most, by the same round; None where nothing is
    to be done. ``last`` is the session of the turn before; any other name begins a round.
    """
    order = _after(loads, last)
    waiting = [load for load in order if load.waiting]
    if waiting:
        mine = waiting[0]
        return SessionTurn(mine.name, _places(mine, _allowance_s(mine, waiting[1:], now)))
    idle = next((load for load in order if load.background), None)
    return None if idle is None else SessionTurn(idle.name, _places(idle, gap_s), background=True)


def _after(loads: Sequence[SessionLoad], last: str | None) -> list[SessionLoad]:
    names = [load.name for load in loads]
    start = names.index(last) + 1 if last in names else 0
    return [*loads[start:], *loads[:start]]


def _allowance_s(mine: SessionLoad, others: Iterable[SessionLoad], now: float) -> float:
    """The longest a turn may be that lets the others, in their order, keep the deadlines which can be kept at all."""
    least_s = mine.latency(max(1, mine.urgent_items))
    return min((left_s for left_s in _left_s(others, now) if left_s >= least_s - TOLERANCE_S), default=inf)


def _left_s(others: Iterable[SessionLoad], now: float) -> Iterator[float]:
    """For each of the others, how long the turn before them all may be."""
    before_s = 0.0
    for load in others:
        before_s += load.latency(max(1, load.urgent_items))
        yield load.due - now - before_s


def _places(load: SessionLoad, seconds: float) -> int:
    return max(
        1, load.urgent_items, bisect_right(range(1, load.max_batch + 1), seconds + TOLERANCE_S, key=load.latency)
    )
