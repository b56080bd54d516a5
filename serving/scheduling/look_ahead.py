"""Our batching policy: the next batch is chosen by what it does to the requests behind it.

Earliest-first runs small batches to save its first request and loses many later ones; windows of a fixed or the longest
size give up requests that need not be given up. Here a few first batches, from cautious ones that drop nobody to the
longest window, are each followed by a rehearsal, in which a sliding window (Shen, 2019, §3.5.1) serves the rest of the
queue and the arrivals expected at the present rate. The batch after which the most requests are in time is taken; of
equal ones that which drops the fewest now. To try first steps, follow a fixed policy after each and take the best is
known as a rollout: where the rehearsal is right, it is never worse than that policy.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from serving.scheduling.batching import Decision, decide
from serving.scheduling.rehearsal import Rehearsal
from serving.scheduling.waiting_line import Latency, Line, R

WINDOWS = 6
"""First batches tried, at most."""


@dataclass(frozen=True, slots=True)
class LookAhead:
    """Drops early what cannot be in time, and those whose place others use better."""

    rate: Callable[[float], float]
    """Requests per second that are expected from a time on; 0 where no more come."""
    time_s: float
    """The time a new arrival has for this network: the session's SLO less the time needed downstream."""

    def __call__(self, queue: Sequence[R], now: float, latency: Latency, max_batch: int) -> Decision[R]:
        """See ``Policy``."""
        return decide(queue, now, latency, max_batch, self._window)

    def _window(self, line: Line[R]) -> tuple[int, int]:
        windows = first_windows(line)
        if len(windows) == 1:
            return windows[0]
        rehearsal = Rehearsal.of(line, self.rate(line.now), self.time_s)
        return max(windows, key=lambda window: (round(rehearsal.gain(*window), 6), -window[0]))


def first_windows(line: Line[R]) -> list[tuple[int, int]]:
    """From the longest window that drops nobody to the longest of all; one where these are the same."""
    last = line.start_of_longest()
    starts = sorted({last * number // (WINDOWS - 1) for number in range(WINDOWS)})
    return [(start, line.longest(start)) for start in starts]
