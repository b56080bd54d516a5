"""Estimates that a session makes of itself: how long its batches take, how often requests come, what one costs."""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from collections.abc import Mapping

LEARNING_RATE = 0.2
"""Share of the newest observation in the running mean of its batch size."""
DOUBT = 0.98
"""Factor on an estimate after a decision to drop."""


class LatencyTable:
    """Seconds for any batch size, linear between the measured ones; beyond the largest at the last slope.

    It never falls with the batch size: a measured dip is noise. Without a single point it says 0, so that nothing is
    given up on a guess.

    >>> table = LatencyTable({1: 0.010, 4: 0.016, 8: 0.015})
    >>> [round(table(batch), 3) for batch in (1, 2, 4, 8, 16)]
    [0.01, 0.012, 0.016, 0.016, 0.016]
    >>> LatencyTable({})(8)
    0.0
    """

    def __init__(self, points: Mapping[int, float]) -> None:
        """``points``: seconds by batch size."""
        self._sizes = sorted(points)
        self._seconds: list[float] = []
        for size in self._sizes:
            self._seconds.append(max([points[size], *self._seconds[-1:]]))

    def __call__(self, batch: int) -> float:
        """Seconds for so many items."""
        sizes, seconds = self._sizes, self._seconds
        if not sizes or batch <= 0:
            return 0.0
        if batch <= sizes[0]:
            # One run has a fixed cost: a smaller batch than any measured is not assumed to be cheaper.
            return seconds[0]
        if batch > sizes[-1]:
            return self._beyond(batch)
        right = bisect_left(sizes, batch)
        share = (batch - sizes[right - 1]) / (sizes[right] - sizes[right - 1])
        return seconds[right - 1] + share * (seconds[right] - seconds[right - 1])

    def _beyond(self, batch: int) -> float:
        sizes, seconds = self._sizes, self._seconds
        if len(sizes) == 1:
            return seconds[0] * batch / sizes[0]
        slope = (seconds[-1] - seconds[-2]) / (sizes[-1] - sizes[-2])
        return seconds[-1] + slope * (batch - sizes[-1])


class LatencyEstimate:
    """A table that learns: begins with a profile, or with nothing, and follows what is observed."""

    def __init__(self, points: Mapping[int, float] | None = None) -> None:
        self._points = dict(points or {})
        self.table = LatencyTable(self._points)
        """The present table; an observation replaces it and never changes it."""

    def observe(self, batch: int, seconds: float) -> None:
        """Record the time of one run."""
        before = self._points.get(batch, seconds)
        self._points[batch] = before + LEARNING_RATE * (seconds - before)
        self.table = LatencyTable(self._points)

    def doubt(self) -> None:
        """Lower the estimates a little, because requests were given up on their account.

        A dropped request is not run and teaches nothing; one slow spell must not have all later requests dropped.
        """
        self._points = {batch: seconds * DOUBT for batch, seconds in self._points.items()}
        self.table = LatencyTable(self._points)


GAIN = 0.1
"""Share of the newest request in the running means."""
REMEMBERED = 64
"""Requests whose times are remembered one by one."""
HURRIED = 0.1
"""Share of the newcomers that have less time than those who are planned for."""

LEFT_GAIN = 0.001
"""Share of the newest request in the share that is given up: some bad luck in a row is no overload."""


class Arrivals:
    """Running means over the requests of one session."""

    def __init__(self) -> None:
        self._last: float | None = None
        self._gap_s = 0.0
        self.time_s = 0.0
        """From a request's arrival until it must leave this network."""
        self.lost = 0.0
        """Share of the requests that was given up of late, 0…1."""
        self._times_s: deque[float] = deque(maxlen=REMEMBERED)

    def note(self, now: float, time_s: float) -> None:
        """A request came at ``now`` with so much time."""
        if self._last is None:
            self.time_s = time_s
        else:
            gap_s = now - self._last
            self._gap_s = gap_s if self._gap_s == 0.0 else self._gap_s + GAIN * (gap_s - self._gap_s)
            self.time_s += GAIN * (time_s - self.time_s)
        self._last = now
        self._times_s.append(time_s)

    def left(self, run: int, dropped: int) -> None:
        """So many requests were taken for a batch, and so many given up."""
        if run + dropped:
            old = (1 - LEFT_GAIN) ** (run + dropped)
            self.lost = old * self.lost + (1 - old) * dropped / (run + dropped)

    def short_s(self, least_s: float) -> float:
        """The time that all newcomers but the most hurried have; those with less than ``least_s`` cannot be helped."""
        times_s = sorted(time_s for time_s in self._times_s if time_s >= least_s)
        return times_s[int(HURRIED * len(times_s))] if times_s else self.time_s

    def rate(self, now: float) -> float:
        """Requests per second expected at ``now``, as if the next one came then; 0 before a second one came.

        So silence lowers the rate, but a gap no longer than chance makes it, which ends most batches, hardly does.
        """
        if self._last is None or self._gap_s <= 0.0:
            return 0.0
        return 1.0 / (self._gap_s + GAIN * max(0.0, now - self._last - self._gap_s))


ROUNDS = 16
"""Batches that are remembered: what a network takes may change, as when the machine's cores are shared anew."""
SELDOM = 4
"""After so many, only one batch in four is timed: asking for processor time is itself a call to the system."""


class ProcessorMeter:
    """Watches one session; the device's thread reports every batch, other threads read.

    >>> meter = ProcessorMeter()
    >>> meter.ran(items=4, processor_s=0.08)
    >>> meter.ran(items=1, processor_s=0.03)
    >>> meter.item_s
    0.02
    """

    def __init__(self, rounds: int = ROUNDS) -> None:
        self._newest: deque[float] = deque(maxlen=rounds)
        self._batches = 0

    def is_due(self) -> bool:
        """Whether the next batch is to be timed; called once for each."""
        self._batches += 1
        return self._batches <= ROUNDS or self._batches % SELDOM == 0

    @property
    def item_s(self) -> float | None:
        """Processor seconds of one item; None before the first batch."""
        return min(tuple(self._newest), default=None)

    def ran(self, items: int, processor_s: float) -> None:
        """A batch of so many items went through while the process used so many processor seconds."""
        if items > 0:
            self._newest.append(max(0.0, processor_s) / items)
