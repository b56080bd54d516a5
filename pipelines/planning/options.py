"""The ways to run a node: its variants, best first, each with the time that so many objects take. Pure."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import NamedTuple

COUNTED = 64
"""Times are tabulated up to so many objects, and proportional beyond."""


class TimeRange(NamedTuple):
    """Seconds of a node's options."""

    least_s: float
    """The fastest variant takes so long."""
    longest_s: float
    """The slowest variant takes so long."""


@dataclass(frozen=True, slots=True)
class Option:
    """One variant of a node."""

    variant: str
    accuracy: float | None
    """Agreement with the node's reference, 0…1; None where it was not measured."""
    tail_s: tuple[float, ...]
    """Seconds that it seldom exceeds, for 1, 2, 3 … objects; never falling."""

    @classmethod
    def of(cls, variant: str, accuracy: float | None, tail_s: Callable[[int], float]) -> Option:
        """``tail_s``: seconds that it seldom exceeds, by the number of objects."""
        return cls(variant, accuracy, tuple(accumulate((tail_s(n) for n in range(1, COUNTED + 1)), max)))

    @classmethod
    def fixed(cls, variant: str, accuracy: float | None, tail_s: float) -> Option:
        """A variant that takes the same for any number of objects, as one that runs on whole frames."""
        return cls(variant, accuracy, (tail_s,) * COUNTED)

    def takes_s(self, objects: int) -> float:
        """Seconds that it seldom exceeds for so many objects."""
        if objects <= 0:
            return 0.0
        tail_s = self.tail_s
        return tail_s[objects - 1] if objects <= COUNTED else tail_s[-1] * objects / COUNTED

    def most(self, budget_s: float) -> int:
        """The most objects for which it fits."""
        if budget_s <= 0:
            return 0
        if budget_s < self.tail_s[-1]:
            return bisect_right(self.tail_s, budget_s)
        return int(COUNTED * budget_s / self.tail_s[-1]) if self.tail_s[-1] else COUNTED


@dataclass(frozen=True)
class Table:
    """A node's options, the one that is wanted most first; at least one."""

    options: tuple[Option, ...]

    @cached_property
    def variants(self) -> tuple[str, ...]:
        return tuple(option.variant for option in self.options)

    @cached_property
    def _columns(self) -> tuple[tuple[float, ...], ...]:
        """Seconds of every option, by the number of objects."""
        none = (0.0,) * len(self.options)
        return (none, *zip(*(option.tail_s for option in self.options), strict=True))

    @cached_property
    def _extremes(self) -> tuple[TimeRange, ...]:
        return tuple(TimeRange(min(column), max(column)) for column in self._columns)

    def seconds(self, objects: int) -> tuple[float, ...]:
        """Seconds of every option for so many objects, looked up."""
        if objects <= COUNTED:
            return self._columns[max(objects, 0)]
        return tuple([seconds * objects / COUNTED for seconds in self._columns[COUNTED]])

    def times(self, objects: int) -> TimeRange:
        """Seconds of the fastest and of the slowest option for so many objects, looked up."""
        if objects <= COUNTED:
            return self._extremes[max(objects, 0)]
        least_s, longest_s = self._extremes[COUNTED]
        return TimeRange(least_s * objects / COUNTED, longest_s * objects / COUNTED)
