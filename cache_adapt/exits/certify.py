"""Bounds that hold on inputs which thresholds were not tuned on, and the climb to these in small steps. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from cache_adapt.bisection import crossing
from cache_adapt.exits.record import Thresholds
from learning.binomial import at_least

DOUBT = 0.1
"""How often the bound may be below the truth."""
PARTS = 8
"""Smaller steps in one of the climb."""


def upper_bound(wrong: float, trials: float, doubt: float = DOUBT) -> float:
    """The share that the truth exceeds with probability ``doubt`` at most (Clopper and Pearson, 1934).

    >>> round(upper_bound(0, 230), 4), upper_bound(0, 0)
    (0.01, 1.0)
    """
    if wrong >= trials:
        return 1.0
    return crossing(lambda share: at_least(wrong + 1, trials, share) - (1 - doubt), 0.0, 1.0)


def is_tolerable(wrong: float, trials: float, most: float, doubt: float = DOUBT) -> bool:
    """Whether the upper bound is at most so much.

    >>> is_tolerable(0, 230, 0.0101), is_tolerable(0, 230, 0.0099)
    (True, False)
    """
    return most >= 1.0 if wrong >= trials else 1 - at_least(wrong + 1, trials, most) <= doubt


def finely(way: Sequence[Thresholds]) -> Iterator[Thresholds]:
    """The same way in smaller steps: a climb takes large ones, and the last that holds may end in between."""
    yield way[0]
    for before, after in pairwise(way):
        for part in range(1, PARTS + 1):
            yield before + (after - before) * part / PARTS
