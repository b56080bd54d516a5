"""Percentiles of any number of durations in fixed memory. Pure."""

from __future__ import annotations

import math
from collections import Counter

from pipelines.report.run_report import Quantiles

SMALLEST_MS = 0.001
"""Shorter durations count as this one."""
RATIO = 1.02
"""Ratio of neighbouring bins' bounds: an answer is at most 1 % off."""
_PER_E = 1 / math.log(RATIO)
"""Bins for each factor of e."""


class Percentiles:
    """A histogram with logarithmic bins: a microsecond to a day takes about 1 300 counters, whatever the number.

    >>> durations = Percentiles()
    >>> for milliseconds in range(1, 1001):
    ...     durations.add(milliseconds)
    >>> round(durations.at(0.5)), round(durations.at(0.95))
    (503, 949)
    >>> Percentiles().at(0.5) is None
    True
    """

    def __init__(self) -> None:
        self._bins: Counter[int] = Counter()
        self._count = 0
        self._low, self._high = math.inf, -math.inf
        self.total_ms = 0.0
        """The sum of all durations."""

    def add(self, duration_ms: float) -> None:
        """Count a duration."""
        self._bins[round(math.log(max(duration_ms, SMALLEST_MS) / SMALLEST_MS) * _PER_E)] += 1
        self._count += 1
        self.total_ms += duration_ms
        self._low, self._high = min(self._low, duration_ms), max(self._high, duration_ms)

    def at(self, share: float) -> float | None:
        """The duration that this share (0…1) of all do not exceed, milliseconds; None where none was counted."""
        wanted, seen = max(1, math.ceil(share * self._count)), 0
        for index in sorted(self._bins):
            seen += self._bins[index]
            if seen >= wanted:
                return min(max(SMALLEST_MS * RATIO**index, self._low), self._high)
        return None

    def quantiles(self) -> Quantiles:
        """Rounded to microseconds."""
        found = (self.at(percent / 100) for percent in (50, 95, 99))
        return Quantiles(*(None if value is None else round(value, 3) for value in found))
