"""How often something is asked for, of late. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from math import exp
from typing import NamedTuple

HORIZON_S = 86_400.0
"""Requests count the less, the longer ago they were: after so long by 1/e."""
LEAST_S = 1.0
"""A frequency counts from so many seconds on, or it would be infinite at first."""


class KeptFrequency(NamedTuple):
    """A frequency as it is kept while its process does not run: what passes until it goes on is not counted."""

    requests: float
    over_s: float
    """Since it was first counted."""


@dataclass(slots=True)
class Frequency:
    """Requests a second: their number over the time, both decayed.

    >>> often = Frequency(0.0)
    >>> for second in range(10):
    ...     often.asked(float(second), 2.0)
    >>> round(often.at(10.0), 2)
    2.0
    """

    since_s: float
    """When it was first counted, seconds on a monotonic clock."""
    count: float = 0.0
    at_s: float | None = None

    @classmethod
    def going_on(cls, now_s: float, kept: KeptFrequency | None) -> Frequency:
        """One that goes on from what was kept; None: nothing is known."""
        return cls(now_s) if kept is None else cls(now_s - kept.over_s, kept.requests, now_s)

    @property
    def kept(self) -> KeptFrequency:
        """The frequency at the last request."""
        at_s = self.since_s if self.at_s is None else self.at_s
        return KeptFrequency(self.count, max(at_s - self.since_s, 0.0))

    def asked(self, now_s: float, requests: float = 1.0) -> None:
        self.count = self._decayed(now_s) + requests
        self.at_s = now_s

    def at(self, now_s: float, more: float = 0.0) -> float:
        """The frequency now; ``more``: with so many requests more."""
        passed_s = max(now_s - self.since_s, LEAST_S)
        return (self._decayed(now_s) + more) / (HORIZON_S * (1 - exp(-passed_s / HORIZON_S)))

    def _decayed(self, now_s: float) -> float:
        return self.count * exp(-max(now_s - (self.since_s if self.at_s is None else self.at_s), 0.0) / HORIZON_S)
