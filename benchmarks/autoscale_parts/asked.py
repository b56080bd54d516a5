"""The load that requests at random times show: over the longest window that no shorter one contradicts. Pure.

A window of seconds counts few requests of a low load, so that its rate rises and falls by chance, and instances would
come and go with it; a long one sees a spike late. Windows grow as long as the intervals in which their rates lie have
one in common (intersection of confidence intervals: Goldenshluger and Nemirovski, 1997).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from math import inf, sqrt

WINDOWS_S = (2.0, 5.0, 10.0, 20.0, 40.0)
HALF = 1.0
"""Half of the standard deviations of a Poisson count that may lie between it and its mean (score interval)."""


def asked_per_s(times_s: Sequence[float], now_s: float) -> float:
    """Requests a second; ``times_s``: when they came, in order, since second 0."""
    rate, low, high = 0.0, 0.0, inf
    for window_s in WINDOWS_S:
        length_s = min(window_s, now_s)
        count = len(times_s) - bisect_left(times_s, now_s - length_s)
        low = max(low, (sqrt(count + HALF**2) - HALF) ** 2 / length_s)
        high = min(high, (sqrt(count + HALF**2) + HALF) ** 2 / length_s)
        if low > high:
            break
        if window_s > now_s:  # it is not full yet, and only so much is sure
            return max(rate, low)
        rate = count / length_s
    return rate
