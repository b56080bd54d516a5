"""Running means of a session's requests for a policy that looks ahead: how often they come, with how much time."""

from __future__ import annotations

GAIN = 0.1
"""Share of the newest request in the running means."""


class Arrivals:
    """Running means over the requests of one session."""

    def __init__(self) -> None:
        self._last: float | None = None
        self._gap_s = 0.0
        self.time_s = 0.0
        """From a request's arrival until it must leave this network."""

    def note(self, now: float, time_s: float) -> None:
        """A request came at ``now`` with so much time."""
        if self._last is None:
            self.time_s = time_s
        else:
            gap_s = now - self._last
            self._gap_s = gap_s if self._gap_s == 0.0 else self._gap_s + GAIN * (gap_s - self._gap_s)
            self.time_s += GAIN * (time_s - self.time_s)
        self._last = now

    def rate(self, now: float) -> float:
        """Requests per second expected at ``now``, as if the next one came then; 0 before a second one came.

        So silence lowers the rate, but a gap no longer than chance makes it, which ends most batches, hardly does.
        """
        if self._last is None or self._gap_s <= 0.0:
            return 0.0
        return 1.0 / (self._gap_s + GAIN * max(0.0, now - self._last - self._gap_s))
