"""A session's queue, and which of its requests run next together, and which are given up.

A queue as a policy sees it says which requests can be in time, how many fit together and how long they take. Requests
may take several places, and some must not be dropped. Our policy is in ``look_ahead.py``.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from operator import itemgetter
from typing import Generic, Protocol, TypeVar

Latency = Callable[[int], float]
"""Seconds that a batch of so many places takes; never less for more."""

TOLERANCE_S = 1e-9
"""The most that rounding may add to a sum of times."""


class WaitingRequest(Protocol):
    """A request in a session's queue."""

    @property
    def deadline(self) -> float:
        """When the answer to its frame should be there, in seconds of any one clock."""

    @property
    def items(self) -> int:
        """How many places it takes in a batch; a request is not split unless it exceeds the limit alone."""

    @property
    def droppable(self) -> bool:
        """Whether it may be given up; otherwise it runs, however late."""

    @property
    def downstream_s(self) -> float:
        """The least time its frame still needs after this network."""


R = TypeVar("R", bound=WaitingRequest)


@dataclass(frozen=True, slots=True)
class WaitingLine(Generic[R]):
    """The requests which can still be in time when they run alone, most urgent first."""

    requests: Sequence[R]
    due: Sequence[float]
    """When each must leave this network: its deadline less the time it needs downstream."""
    places: Sequence[int]
    """Places taken by all before each, and by all: one longer than ``requests``."""
    seconds: Latency
    """Never less for more places."""
    limit: int
    """The most places a batch has."""
    now: float

    def end(self, first: int, places: int) -> int:
        """Where the window ends that starts at ``first`` and has so many places; it has at least one request."""
        return max(first + 1, bisect_right(self.places, self.places[first] + places) - 1)

    def longest(self, first: int) -> int:
        """Where the longest window ends that starts at ``first`` and is in time for it."""
        room = self.due[first] - self.now + TOLERANCE_S
        return self.end(first, bisect_right(range(1, self.limit + 1), room, key=self.seconds))

    def in_time(self, first: int, end: int, riders: int = 0) -> bool:
        """Whether a window, and so many places beside it, ends when its first request is due."""
        places = self.places[end] - self.places[first] + riders
        return self.now + self.seconds(places) <= self.due[first] + TOLERANCE_S

    def start_of_longest(self) -> int:
        """The first window that fills the limit or reaches the end; of equal sizes none that starts later is longer."""

        def is_longest(first: int) -> bool:
            end = self.longest(first)
            return end == len(self.requests) or self.places[end] - self.places[first] >= self.limit

        return bisect_left(range(len(self.requests) - 1), True, key=is_longest)


def line_up(queue: Sequence[R], now: float, latency: Latency, limit: int) -> tuple[WaitingLine[R], list[R]]:
    """Those who can be in time and those who cannot, both most urgent first, equals in order of arrival."""
    seconds = cache(latency)
    timely: list[R] = []
    hopeless: list[R] = []
    due: list[float] = []
    places = [0]
    for leave, request in sorted([(each.deadline - each.downstream_s, each) for each in queue], key=_leaves):
        if now + seconds(request.items) > leave + TOLERANCE_S:
            hopeless.append(request)
            continue
        timely.append(request)
        due.append(leave)
        places.append(places[-1] + request.items)
    return WaitingLine(timely, due, places, seconds, limit, now), hopeless


_leaves = itemgetter(0)


@dataclass(frozen=True, slots=True)
class BatchDecision(Generic[R]):
    """A decision about a queue; requests named in neither list go on waiting."""

    run: Sequence[R]
    """One batch; empty only where nothing is left that waits."""
    drop: Sequence[R]
    """Requests given up; each of them is droppable."""


def decide(
    queue: Sequence[R],
    now: float,
    latency: Latency,
    max_batch: int,
    choose: Callable[[WaitingLine[R]], tuple[int, int]],
) -> BatchDecision[R]:
    """The window that ``choose`` picks from those who can be in time, with the late ones that must run all the same."""
    line, hopeless = line_up(queue, now, latency, max_batch)
    late = [request for request in hopeless if not request.droppable]
    drop = [request for request in hopeless if request.droppable]
    if not line.requests:
        return BatchDecision(fill(late, max_batch), drop)
    first, end = choose(line)
    if late and _can_wait(line, first, end, late[0]):
        return BatchDecision(late[:1], drop)
    end, riders = _riders(line, first, end, late)
    sacrificed = [request for request in line.requests[:first] if request.droppable]
    return BatchDecision([*line.requests[first:end], *riders], [*drop, *sacrificed])


def fill(requests: Sequence[R], limit: int) -> list[R]:
    """The first ones, up to the limit; the very first whatever it takes."""
    chosen, places = list(requests[:1]), sum(request.items for request in requests[:1])
    for request in requests[1:]:
        places += request.items
        if places > limit:
            break
        chosen.append(request)
    return chosen


def _can_wait(line: WaitingLine[R], first: int, end: int, late: R) -> bool:
    """Whether a late request too large to ride beside another may go first: the window is in time after it, too."""
    too_large = line.places[first + 1] - line.places[first] + late.items > line.limit
    window_s = line.seconds(line.places[end] - line.places[first])
    return too_large and line.now + line.seconds(late.items) + window_s <= line.due[first] + TOLERANCE_S


def _riders(line: WaitingLine[R], first: int, end: int, late: Sequence[R]) -> tuple[int, list[R]]:
    """The window's end and the late requests that run beside it.

    They take what is free. The longest late gets its places even from the least urgent of the window, who go on
    waiting: without that it would starve under a lasting load.
    """
    if not late:
        return end, []
    shorter = (cut for cut in range(end, first, -1) if _fit_together(line, first, cut, late[0].items))
    end_with_rider = next(shorter, None)
    if end_with_rider is None:
        return end, []
    riders, places = [late[0]], late[0].items
    for request in late[1:]:
        places += request.items
        if not _fit_together(line, first, end_with_rider, places):
            break
        riders.append(request)
    return end_with_rider, riders


def _fit_together(line: WaitingLine[R], first: int, end: int, places: int) -> bool:
    """Whether so many places fit beside a window, within the limit and its time."""
    return line.places[end] - line.places[first] + places <= line.limit and line.in_time(first, end, places)
