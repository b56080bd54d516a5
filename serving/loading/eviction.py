"""Which resident models make room for another: decisions alone, by the utility of keeping each.

Model-level caching: Ogden, Gilman, Walls and Guo, "Many Models at the Edge", 2021, §IV–V. The default is their utility
with forecast shares of the requests (``request_shares.py``) in the place of plain averages; it was the best, or within
2 % of the best rival, at each point measured (``benchmarks/results/eviction.csv``).
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping
from typing import Protocol

import numpy as np

from serving.loading.request_shares import FIRST_ROWS, Floats, RequestShares


class EvictionPolicy(Protocol):
    """Decides which resident models make room for another; it knows requests and loads only.

    On a miss the calls come in this order: ``requested``, ``evict`` where room is short, ``loaded``.
    """

    def requested(self, model: str, now: float) -> None:
        """A request for the model has arrived, whether it is resident or not; ``now`` in seconds never falls."""

    def loaded(self, model: str, size_bytes: int, load_s: float) -> None:
        """The model is resident; both figures are measured, ``load_s`` is the penalty of a miss."""

    def evict(self, candidates: Container[str], needed_bytes: int) -> list[str]:
        """Models that give back at least so much and are no longer resident hereafter, all of them candidates.

        Candidates are the resident models that nobody uses. Less than needed only where they hold no more.
        """


def eviction_set(ascending: Iterable[str], size_bytes: Mapping[str, int], needed_bytes: int) -> list[str]:
    """The models to evict, given all that may go in ascending order of utility (§V-B).

    The models of the lowest utility are taken until they suffice; of these the largest go first, so that small ones
    taken before a large one may stay.
    """
    taken: list[str] = []
    freed_bytes = 0
    for model in ascending:
        if freed_bytes >= needed_bytes:
            break
        taken.append(model)
        freed_bytes += size_bytes[model]
    return _largest_first(taken, size_bytes, needed_bytes)


def _largest_first(taken: list[str], size_bytes: Mapping[str, int], needed_bytes: int) -> list[str]:
    evicted: list[str] = []
    for model in sorted(taken, key=size_bytes.__getitem__, reverse=True):
        if needed_bytes <= 0:
            break
        evicted.append(model)
        needed_bytes -= size_bytes[model]
    return evicted


FEW = 32


class Forecast:
    """utility(m) = penalty(m) / |m| · p(m), p(m) the forecast share of the next requests (``RequestShares``).

    It is computed anew at every eviction; every model ever seen has its row. With plain averages the utility goes wrong
    by what it cannot know of models requested a few times: it loses to popularity where popularity and penalty are
    correlated, to GDSF where popularity drifts.
    """

    def __init__(self) -> None:
        self._rows: dict[str, int] = {}
        self._names: list[str] = []
        self._size_bytes: dict[str, int] = {}
        self._resident = np.zeros(FIRST_ROWS, bool)
        self._density = np.zeros(FIRST_ROWS)
        self._shares = RequestShares()

    def requested(self, model: str, now: float) -> None:
        """Take note, with a row for a model never seen before."""
        self._shares.observe(self._row(model), now)

    def loaded(self, model: str, size_bytes: int, load_s: float) -> None:
        """The model may be evicted from now on, and is judged by its like."""
        row = self._row(model)
        self._size_bytes[model] = size_bytes
        self._density[row] = load_s / max(size_bytes, 1)
        self._resident[row] = True
        self._shares.join(row, load_s)

    def evict(self, candidates: Container[str], needed_bytes: int) -> list[str]:
        """The candidates of the lowest utility, as in §V-B."""
        rows = np.flatnonzero(self._resident)
        utilities = self._density[rows] * self._shares.of(rows)
        lowest_first = (self._names[rows[place]] for place in ascending(utilities))
        evicted = eviction_set((name for name in lowest_first if name in candidates), self._size_bytes, needed_bytes)
        for model in evicted:
            self._resident[self._rows[model]] = False
        return evicted

    def _row(self, model: str) -> int:
        if model not in self._rows:
            self._rows[model] = len(self._names)
            self._names.append(model)
            if len(self._names) > len(self._resident):
                self._resident, self._density = (
                    np.concatenate([each, np.zeros_like(each)]) for each in (self._resident, self._density)
                )
                self._shares.grow()
        return self._rows[model]


def ascending(utilities: Floats) -> Iterator[int]:
    """Places from the lowest utility up; the first few, which usually suffice, without sorting the others."""
    if len(utilities) <= FEW:
        yield from np.argsort(utilities)
        return
    order = np.argpartition(utilities, FEW)
    for part in (order[:FEW], order[FEW:]):
        yield from part[np.argsort(utilities[part])]
