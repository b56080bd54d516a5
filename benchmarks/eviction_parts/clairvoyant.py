"""Policies that know all requests in advance: bounds for simulations, and the paper's Table I."""

from __future__ import annotations

import math
from collections import defaultdict, deque
from collections.abc import Sequence

import numpy as np

from benchmarks.eviction_parts.ranked import Ranked
from serving.loading.eviction import Scored, doubled
from serving.loading.request_shares import FIRST_ROWS, Floats, Rows


class Future:
    """When each model is requested next, counted in requests from the first one."""

    def __init__(self, requests: Sequence[str]) -> None:
        self._places: defaultdict[str, deque[int]] = defaultdict(deque)
        for place, model in enumerate(requests):
            self._places[model].append(place)
        self.place = -1

    def advance(self, model: str) -> None:
        """The next request has arrived; ValueError where it is not the one foretold."""
        self.place += 1
        places = self._places[model]
        if not places or places.popleft() != self.place:
            raise ValueError(f"request {self.place} is for {model}, which was not foretold")

    def next_use(self, model: str) -> float:
        """The place of the next request for the model; infinite where there is none."""
        places = self._places[model]
        return places[0] if places else math.inf


class BeladyMIN(Ranked):
    """Evicts what is requested again last (Belady, 1966)."""

    def __init__(self, requests: Sequence[str]) -> None:
        super().__init__()
        self._future = Future(requests)

    def _note(self, model: str, now: float) -> None:
        self._future.advance(model)

    def _utility(self, model: str) -> float:
        return -self._future.next_use(model)


class CremeBruleeOracle(Scored):
    """utility(m) = penalty(m) / (|m| · B(m)), eq. 1, B(m) the number of requests until the next one for the model."""

    def __init__(self, requests: Sequence[str]) -> None:
        super().__init__()
        self._future = Future(requests)
        self._next_use = np.zeros(FIRST_ROWS)

    def _note(self, row: int, now: float) -> None:
        model = self._names[row]
        self._future.advance(model)
        self._next_use[row] = self._future.next_use(model)

    def _grow(self) -> None:
        super()._grow()
        self._next_use = doubled(self._next_use)

    def _utilities(self, rows: Rows) -> Floats:
        return self._density[rows] / (self._next_use[rows] - self._future.place)
