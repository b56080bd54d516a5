"""The policies that ours is measured against: least recently used, popularity, GDSF, CremeBrulee and chance."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Container, Iterator

from benchmarks.eviction_parts.ranked import Ranked
from serving.loading.eviction import eviction_set


class LRU(Ranked):
    """Evicts what was not used for the longest time."""

    def __init__(self) -> None:
        super().__init__()
        self._last_s: dict[str, float] = {}

    def _note(self, model: str, now: float) -> None:
        self._last_s[model] = now

    def _utility(self, model: str) -> float:
        return self._last_s.get(model, -math.inf)


class Popularity(Ranked):
    """Evicts what was requested least often since the beginning, whatever its size and penalty (§VI-A).

    The average rates λ_m of all models span the same time, so that the counts say the same.
    """

    def __init__(self) -> None:
        super().__init__()
        self._requests: Counter[str] = Counter()

    def _note(self, model: str, now: float) -> None:
        self._requests[model] += 1

    def _utility(self, model: str) -> float:
        return float(self._requests[model])


class CremeBrulee(Popularity):
    """utility(m) = penalty(m) / (|m| · B(m)), eq. 1; Belady boundary B(m) ≈ 1/λ_m with λ_m a plain average (§V-A)."""

    def _utility(self, model: str) -> float:
        return super()._utility(model) * self.density(model)


class GDSF(Ranked):
    """GreedyDual-Size-Frequency (Cherkasova, 1998): H(m) = L + F(m) · penalty(m) / |m|.

    F counts the requests since the model was loaded. L, the highest utility evicted so far, ages those that rest.
    """

    def __init__(self) -> None:
        super().__init__()
        self._frequency: Counter[str] = Counter()
        self._inflation = 0.0

    def loaded(self, model: str, size_bytes: int, load_s: float) -> None:
        """Begin to count with the request that made it load."""
        self._frequency[model] = 1
        super().loaded(model, size_bytes, load_s)

    def _note(self, model: str, now: float) -> None:
        self._frequency[model] += 1

    def _utility(self, model: str) -> float:
        return self._inflation + self._frequency[model] * self.density(model)

    def _gone(self, model: str, utility: float) -> None:
        self._inflation = max(self._inflation, utility)


class Random:
    """Evicts any model with the same probability: the baseline of §VI."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._size_bytes: dict[str, int] = {}
        self._resident: list[str] = []

    def requested(self, model: str, now: float) -> None:
        """Chance does not look at requests."""

    def loaded(self, model: str, size_bytes: int, load_s: float) -> None:
        """The model is among those that may go."""
        self._size_bytes[model] = size_bytes
        if model not in self._resident:
            self._resident.append(model)

    def evict(self, candidates: Container[str], needed_bytes: int) -> list[str]:
        """Any of the candidates."""
        drawn = (model for model in self._drawn() if model in candidates)
        evicted = eviction_set(drawn, self._size_bytes, needed_bytes)
        for model in evicted:
            self._resident.remove(model)
        return evicted

    def _drawn(self) -> Iterator[str]:
        """All resident models in random order, no further than is asked for."""
        for last in range(len(self._resident) - 1, -1, -1):
            place = self._rng.randint(0, last)
            self._resident[place], self._resident[last] = self._resident[last], self._resident[place]
            yield self._resident[last]
