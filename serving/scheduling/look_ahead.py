"""Our batching policy: the next batch is chosen by what it does to the requests behind it.

Earliest-first runs small batches to save its first request and loses many later ones; windows of a fixed or the longest
size give up requests that need not be given up. Here a few first batches, from cautious ones that drop no request to
the longest window, are each followed by a rehearsal, in which a sliding window (Shen, 2019, §3.5.1) serves the rest of
the queue and the arrivals expected at the present rate. The batch after which the most requests are in time is taken;
of equal ones that which drops the fewest now. To try first steps, follow a fixed policy after each and take the best is
known as a rollout: where the rehearsal is right, it is never worse than that policy.

The rehearsal expects even arrivals, all with the mean time. Where requests of one session have different times, it
does not see that a long batch keeps the hurried ones waiting too long, should some come by chance. To rehearse
newcomers with the times that earlier ones had does not mend that: as long as they come evenly, a long batch loses none
of them. So there the sliding window for the hurried ones runs as long as next to nobody is given up. Where more are,
the device is overloaded, what long batches serve in the same time outweighs chance, and the rehearsal decides.
``benchmarks/results/batching.csv`` has both kinds.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any

from serving.scheduling.batching import TOLERANCE_S, BatchDecision, Latency, R, WaitingLine, decide

AHEAD = 2
"""Arrivals are rehearsed for so many batches: as long as a newcomer waits for a batch and runs in one."""
NOBODY_PER_S = 1e-3
"""At a lower rate no request is expected."""


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """Requests in order: first those who wait, then one expected every 1 / ``rate`` seconds."""

    due: Sequence[float]
    places: Sequence[int]
    """Taken by all before each, and by all."""
    waiting: int
    """So many are there already."""
    rate: float
    now: float
    seconds: Latency
    batch: int
    """Places in the window that slides."""
    stop: int
    """So many requests are served or dropped; a batch that begins with one of them may take some that come later."""
    worth: float
    """Requests served per second of the device."""

    @classmethod
    def of(cls, line: WaitingLine[Any], rate: float, time_s: float) -> Rehearsal:
        """Those in line, and newcomers of the same mean size that have ``time_s`` each from their arrival on."""
        waiting = len(line.requests)
        size = max(1, round(line.places[-1] / waiting))
        # Half of a newcomer's time is for waiting, half for running (Shen, 2019, §3.2.1).
        batch = fitting(line, time_s / 2)
        worth = min(rate, batch / size / max(line.seconds(batch), TOLERANCE_S))
        if rate < NOBODY_PER_S:
            return cls(line.due, line.places, waiting, rate, line.now, line.seconds, batch, waiting, worth)
        gap_s, newest, stop = 1 / rate, line.now + time_s, waiting + ceil(AHEAD * batch / size)
        coming = range(1, stop - waiting + batch // size + 1)
        # A request with more time than a newcomer is rehearsed as one: dues must not fall.
        sooner = bisect_right(line.due, newest)
        due = [*line.due[:sooner], *[newest] * (waiting - sooner), *[newest + gap_s * number for number in coming]]
        taken = line.places[-1]
        places = [*line.places, *range(taken + size, taken + size * len(coming) + 1, size)]
        return cls(due, places, waiting, rate, line.now, line.seconds, batch, stop, worth)

    def gain(self, first: int, end: int) -> float:
        """Requests in time where the window from ``first`` to ``end`` runs now, less those its time is worth.

        All windows are judged by the same requests, but some are done with them sooner: time is counted as the requests
        that a busy device serves in it, or as those that come, where they are fewer.
        """
        due, places, seconds, stop = self.due, self.places, self.seconds, self.stop
        served, position = end - first, end
        at = self.now + seconds(places[end] - places[first])
        while position < stop:
            at, present = self.wait(at, position)
            while position < present:
                end = self._end(position, present)
                done = at + seconds(places[end] - places[position])
                if done <= due[position] + TOLERANCE_S:
                    served, position, at = served + end - position, end, done
                    break
                # Windows of this size fail up to the first that is due late enough; near the end shorter ones may do.
                size = end - position
                enough = bisect_left(due, done - TOLERANCE_S, position + 1, present)
                position = min(enough, max(present - size, position + 1 + size // 4))
        return served - self.worth * (at - self.now)

    def wait(self, at: float, position: int) -> tuple[float, int]:
        """When there are requests from ``position`` on, and how many have come by then: more than ``position``.

        Those who are waited for are counted and not computed. Sums of times are rounded by a share of the machine's
        running time, which at high rates is more than a newcomer's gap: none would ever come.
        """
        wanted = position - self.waiting + 1
        if wanted > 0:
            at = max(at, self.now + wanted / self.rate)
        come = max(wanted, int((at - self.now) * self.rate + TOLERANCE_S))
        return at, min(self.waiting + come, len(self.due))

    def _end(self, start: int, present: int) -> int:
        end = bisect_right(self.places, self.places[start] + self.batch, start, present + 1) - 1
        return max(start + 1, end)


def fitting(line: WaitingLine[Any], seconds: float) -> int:
    """The most places whose batch takes no longer; 1 at least."""
    return max(1, bisect_right(range(1, line.limit + 1), seconds + TOLERANCE_S, key=line.seconds))


WINDOWS = 6
"""First batches tried, at most."""
CALM = 0.05
"""Share of the requests that may be given up before times that differ count as an overload."""
ALIKE = 0.9
"""Share of the mean time from which a shorter time counts as the same."""


@dataclass(frozen=True, slots=True)
class LookAheadPolicy:
    """Drops early what cannot be in time, and those whose place others use better."""

    rate: Callable[[float], float]
    """Requests per second that are expected from a time on; 0 where no more come."""
    time_s: float
    """The time a new arrival has for this network: the session's SLO less the time needed downstream."""
    short_s: Callable[[float], float] | None = None
    """The time that nearly all new arrivals have, of those with so much at least; None: all have ``time_s``."""
    lost: float = 0.0
    """Share of the requests that was given up of late."""

    def __call__(self, queue: Sequence[R], now: float, latency: Latency, max_batch: int) -> BatchDecision[R]:
        return decide(queue, now, latency, max_batch, self._window)

    def _window(self, line: WaitingLine[R]) -> tuple[int, int]:
        if self.lost < CALM and (cautious := self._cautious(line)) is not None:
            return cautious
        windows = first_windows(line)
        if len(windows) == 1:
            return windows[0]
        rehearsal = Rehearsal.of(line, self.rate(line.now), self.time_s)
        return max(windows, key=lambda window: (round(rehearsal.gain(*window), 6), -window[0]))

    def _cautious(self, line: WaitingLine[R]) -> tuple[int, int] | None:
        """The sliding window for the hurried newcomers; None where they have hardly less time than the others."""
        if self.short_s is None:
            return None
        short_s = self.short_s(line.seconds(1))
        if short_s >= ALIKE * self.time_s:
            return None
        batch = fitting(line, short_s / 2)
        windows = ((first, line.end(first, batch)) for first in range(len(line.requests)))
        return next((window for window in windows if line.in_time(*window)), None)


def first_windows(line: WaitingLine[R]) -> list[tuple[int, int]]:
    """From the longest window that drops no request to the longest of all; one where these are the same."""
    last = line.start_of_longest()
    starts = sorted({last * number // (WINDOWS - 1) for number in range(WINDOWS)})
    return [(start, line.longest(start)) for start in starts]
