"""Running means of a session's requests for a policy that looks ahead: how often they come, and with how much time.

So is the share of them that is given up, which tells an overload more surely than the rate does.
"""

from __future__ import annotations

from collections import deque

GAIN = 0.1
"""Share of the newest request in the running means."""
REMEMBERED = 64
"""Requests whose times are remembered one by one."""
HURRIED = 0.1
"""Share of the newcomers that have less time than those who are planned for."""

SETTLED_GAIN = 0.001
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

    def settled(self, run: int, dropped: int) -> None:
        """So many requests were taken for a batch, and so many given up."""
        if run + dropped:
            old = (1 - SETTLED_GAIN) ** (run + dropped)
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
