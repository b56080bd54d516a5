"""Policies whose order of models changes with a model's own requests only: the resident ones are kept in that order."""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_left, insort
from collections.abc import Container, Iterator

from serving.loading.eviction import eviction_set


class Ranking:
    """Models in ascending order of utility, equal ones by name."""

    def __init__(self) -> None:
        self._order: list[tuple[float, str]] = []
        self._utility: dict[str, float] = {}

    def place(self, model: str, utility: float) -> None:
        """Add the model, or move it to where it now belongs."""
        if model in self:
            self.remove(model)
        insort(self._order, (utility, model))
        self._utility[model] = utility

    def remove(self, model: str) -> float:
        """Take the model out; returns the utility it had."""
        utility = self._utility.pop(model)
        del self._order[bisect_left(self._order, (utility, model))]
        return utility

    def __contains__(self, model: str) -> bool:
        return model in self._utility

    def __iter__(self) -> Iterator[str]:
        return (model for _, model in self._order)


class Ranked(ABC):
    """An eviction policy by a utility that each model keeps until its next request."""

    def __init__(self) -> None:
        self._ranking = Ranking()
        self._size_bytes: dict[str, int] = {}
        self._load_s: dict[str, float] = {}

    def requested(self, model: str, now: float) -> None:
        """Take note, and rank the model anew where it is resident."""
        self._note(model, now)
        if model in self._ranking:
            self._ranking.place(model, self._utility(model))

    def loaded(self, model: str, size_bytes: int, load_s: float) -> None:
        """Rank the model among the resident ones."""
        self._size_bytes[model], self._load_s[model] = size_bytes, load_s
        self._ranking.place(model, self._utility(model))

    def evict(self, candidates: Container[str], needed_bytes: int) -> list[str]:
        """The candidates of the lowest utility, as in §V-B."""
        ascending = (model for model in self._ranking if model in candidates)
        evicted = eviction_set(ascending, self._size_bytes, needed_bytes)
        for model in evicted:
            self._gone(model, self._ranking.remove(model))
        return evicted

    def density(self, model: str) -> float:
        """Penalty of a miss per byte: the load time over the size."""
        return self._load_s[model] / max(self._size_bytes[model], 1)

    @abstractmethod
    def _note(self, model: str, now: float) -> None:
        """Remember the request."""

    @abstractmethod
    def _utility(self, model: str) -> float:
        """The value of keeping the resident model, from the requests remembered."""

    def _gone(self, model: str, utility: float) -> None:  # noqa: B027 - most policies remember nothing of it
        """The model was evicted at this utility."""
