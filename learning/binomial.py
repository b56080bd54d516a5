"""Tails of the binomial distribution, by a continued fraction (Lentz, 1976; DLMF 8.17.22). Pure.

``scipy.special`` has them, but takes longer to import than a run needs for its first frames.
"""

from __future__ import annotations

import math

NEGLIGIBLE = 1e-15
"""A step that changes a fraction by less ends it."""
TINY = 1e-300
MOST_STEPS = 10_000


def at_least(successes: float, trials: float, probability: float) -> float:
    """P[Binomial(trials, probability) ≥ successes]; between whole numbers the regularised incomplete beta function.

    >>> at_least(1, 2, 0.5), round(at_least(1.5, 2.5, 0.5), 3)
    (0.75, 0.619)
    """
    if successes <= 0:
        return 1.0
    if successes >= trials + 1 or probability <= 0.0:
        return 0.0
    if probability >= 1.0:
        return 1.0
    failures = trials - successes + 1
    # The fraction converges fast up to about the mean, and beyond it for the other tail.
    if probability * (successes + failures + 2) <= successes + 1:
        return min(_tail(successes, failures, probability), 1.0)
    return max(1.0 - _tail(failures, successes, 1.0 - probability), 0.0)


def _tail(a: float, b: float, x: float) -> float:
    """The incomplete beta function."""
    ways = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    first = math.exp(ways + a * math.log(x) + b * math.log1p(-x)) / a
    return first / _fraction(a, b, x)


def _fraction(a: float, b: float, x: float) -> float:
    found = above = 1.0
    below = 0.0
    for step in range(1, MOST_STEPS):
        m = step // 2
        if step % 2:
            factor = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        else:
            factor = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        below = 1 / _apart(1 + factor * below)
        above = _apart(1 + factor / above)
        found *= above * below
        if abs(above * below - 1) < NEGLIGIBLE:
            break
    return found


def _apart(value: float) -> float:
    """The value, but never 0."""
    return value if abs(value) > TINY else TINY
