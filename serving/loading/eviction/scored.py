"""Policies whose utilities change with time: computed for all resident models at once when one has to go."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Container, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from serving.loading.eviction.policy import eviction_set
from serving.loading.eviction.shares import FIRST_ROWS, Floats, Rows

FEW = 32


class Scored(ABC):
    """An eviction policy by a utility computed anew at every eviction; every model ever seen has its row."""

    def __init__(self) -> None:
        self._rows: dict[str, int] = {}
        self._names: list[str] = []
        self._size_bytes: dict[str, int] = {}
        self._resident = np.zeros(FIRST_ROWS, bool)
        self._density = np.zeros(FIRST_ROWS)

    def requested(self, model: str, now: float) -> None:
        """Take note, with a row for a model never seen before."""
        self._note(self._row(model), now)

    def loaded(self, model: str, size_bytes: int, load_s: float) -> None:
        """The model may be evicted from now on."""
        row = self._row(model)
        self._size_bytes[model] = size_bytes
        self._density[row] = load_s / max(size_bytes, 1)
        self._resident[row] = True

    def evict(self, candidates: Container[str], needed_bytes: int) -> list[str]:
        """The candidates of the lowest utility, as in §V-B."""
        rows = np.flatnonzero(self._resident)
        lowest_first = (self._names[rows[place]] for place in ascending(self._utilities(rows)))
        evicted = eviction_set((name for name in lowest_first if name in candidates), self._size_bytes, needed_bytes)
        for model in evicted:
            self._resident[self._rows[model]] = False
        return evicted

    def _row(self, model: str) -> int:
        if model not in self._rows:
            self._rows[model] = len(self._names)
            self._names.append(model)
            if len(self._names) > len(self._resident):
                self._grow()
        return self._rows[model]

    def _grow(self) -> None:
        """Double the rows of every column."""
        self._resident = doubled(self._resident)
        self._density = doubled(self._density)

    @abstractmethod
    def _note(self, row: int, now: float) -> None:
        """Remember the request for the model of this row."""

    @abstractmethod
    def _utilities(self, rows: Rows) -> Floats:
        """The value of keeping each of these resident models now."""


def ascending(utilities: Floats) -> Iterator[int]:
    """Places from the lowest utility up; the first few, which usually suffice, without sorting the others."""
    if len(utilities) <= FEW:
        yield from np.argsort(utilities)
        return
    order = np.argpartition(utilities, FEW)
    for part in (order[:FEW], order[FEW:]):
        yield from part[np.argsort(utilities[part])]


def doubled(column: NDArray[Any]) -> NDArray[Any]:
    """The column with as many rows again, all zero; rows are the last axis."""
    return np.concatenate([column, np.zeros_like(column)], axis=-1)
