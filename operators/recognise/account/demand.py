"""How often a node is asked to look at something on one stream. Pure."""

from __future__ import annotations

LEAST_S = 10.0
"""Media time after which the frequency is taken for known."""
LONGEST_GAP_S = 600.0
"""Longer gaps, and steps back, are no time of the stream: its source was started anew."""


class Demand:
    """Looks at the objects of a stream; times are media seconds.

    >>> demand = Demand()
    >>> for second in range(21):
    ...     demand.looked(float(second), looks=3)
    >>> round(demand.looks_per_hour)
    11340
    """

    def __init__(self) -> None:
        self._looks = 0
        self._lasted_s = 0.0
        self._latest_s: float | None = None

    @property
    def looks_per_hour(self) -> float | None:
        """Looks in an hour of the stream; None as long as nobody knows."""
        return self._looks / self._lasted_s * 3600 if self._lasted_s >= LEAST_S else None

    def looked(self, at_s: float, looks: int) -> None:
        """So many objects of a frame had to be looked at."""
        self._looks += looks
        gap_s = 0.0 if self._latest_s is None else at_s - self._latest_s
        if 0 < gap_s <= LONGEST_GAP_S:
            self._lasted_s += gap_s
        self._latest_s = at_s
