"""Decides which requests of a session's queue run next, together, and which are given up.

It works for requests that take several places, and for such as must not be dropped. Our policy is in ``look_ahead.py``,
those it is compared with are in ``baselines.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol

from serving.scheduling.waiting_line import TOLERANCE_S, Latency, R, WaitingLine, line_up


@dataclass(frozen=True, slots=True)
class BatchDecision(Generic[R]):
    """A decision about a queue; requests named in neither list go on waiting."""

    run: Sequence[R]
    """One batch; empty only where nothing is left that waits."""
    drop: Sequence[R]
    """Requests given up; each of them is droppable."""


class Policy(Protocol):
    """Decides about the queue of one session whenever its device is free."""

    def __call__(self, queue: Sequence[R], now: float, latency: Latency, max_batch: int) -> BatchDecision[R]:
        """The next batch, of ``max_batch`` places at most unless one request alone takes more; ``now`` in seconds."""
        ...


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
        return BatchDecision(_fill(late, max_batch), drop)
    first, end = choose(line)
    if late and _can_wait(line, first, end, late[0]):
        return BatchDecision(late[:1], drop)
    end, riders = _riders(line, first, end, late)
    sacrificed = [request for request in line.requests[:first] if request.droppable]
    return BatchDecision([*line.requests[first:end], *riders], [*drop, *sacrificed])


def _fill(requests: Sequence[R], limit: int) -> list[R]:
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
