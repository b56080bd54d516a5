"""Policies that know all requests in advance: bounds for simulations, and the paper's Table I."""

from __future__ import annotations

import math
from collections import defaultdict, deque
from collections.abc import Container, Sequence

from benchmarks.eviction_parts.ranked import Ranked
from serving.loading.eviction import eviction_set


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


class CremeBruleeOracle:
    """utility(m) = penalty(m) / (|m| · B(m)), eq. 1, B(m) the number of requests until the next one for the model."""

    def __init__(self, requests: Sequence[str]) -> None:
        self._future = Future(requests)
        self._size_bytes: dict[str, int] = {}
        self._density: dict[str, float] = {}
        """By resident model: the load time over the size."""

    def requested(self, model: str, now: float) -> None:
        self._future.advance(model)

    def loaded(self, model: str, size_bytes: int, load_s: float) -> None:
        self._size_bytes[model], self._density[model] = size_bytes, load_s / max(size_bytes, 1)

    def evict(self, candidates: Container[str], needed_bytes: int) -> list[str]:
        """The candidates of the lowest utility, as in §V-B."""
        ascending = sorted((model for model in self._density if model in candidates), key=self._utility)
        evicted = eviction_set(ascending, self._size_bytes, needed_bytes)
        for model in evicted:
            del self._density[model]
        return evicted

    def _utility(self, model: str) -> float:
        return self._density[model] / (self._future.next_use(model) - self._future.place)
