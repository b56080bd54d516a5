"""A queue as a batching policy sees it: which requests can be in time, how many fit together, how long they take."""

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
        ...

    @property
    def items(self) -> int:
        """How many places it takes in a batch; a request is not split unless it exceeds the limit alone."""
        ...

    @property
    def droppable(self) -> bool:
        """Whether it may be given up; otherwise it runs, however late."""
        ...

    @property
    def downstream_s(self) -> float:
        """The least time its frame still needs after this network."""
        ...


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
