"""ℓ(b): how long a batch of b items takes, from a profile or learnt while serving."""

from __future__ import annotations

from bisect import bisect_left
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
