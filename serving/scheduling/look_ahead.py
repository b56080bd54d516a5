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

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from serving.scheduling.batching import BatchDecision, decide
from serving.scheduling.rehearsal import Rehearsal, fitting
from serving.scheduling.waiting_line import Latency, R, WaitingLine

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
