"""Keeps account of resident models under a memory budget; the loader loads and closes them."""

from __future__ import annotations

import sys
from collections import Counter

from serving.errors import ModelError, SluiceError
from serving.loading.eviction import EvictionPolicy

RESIDENT_PER_FILE_BYTE = 1.25
"""Expected memory of a model never loaded before, over the size of its file: most networks measured take 1.0 to 1.3."""
MIB = 1 << 20
UNBOUNDED = sys.maxsize
"""The budget of those who have none."""


class NoRoom(SluiceError):
    """Everything that could make room is in use: to be tried again when a model is no longer pinned."""


class TooLarge(ModelError):
    """A model exceeds the budget by itself."""


class Residency:
    """Admits models under a budget; the policy says what has to go for them.

    A model is admitted, then loaded; between the two it cannot be evicted. Pinned models cannot be evicted either.
    The accounts never exceed the budget: what ``admit`` and ``loaded`` return counts as gone, and the caller closes it
    before it opens anything.
    """

    def __init__(self, budget_bytes: int, policy: EvictionPolicy) -> None:
        self.budget_bytes = budget_bytes
        self._policy = policy
        self._resident: dict[str, int] = {}
        self._loading: set[str] = set()
        self._pins: Counter[str] = Counter()
        self._measured_bytes: dict[str, int] = {}

    @property
    def used_bytes(self) -> int:
        """Bytes of all models that are resident or being loaded."""
        return sum(self._resident.values())

    def __contains__(self, model: str) -> bool:
        return model in self._resident and model not in self._loading

    def expected_bytes(self, model: str, file_bytes: int) -> int:
        """The bytes the model took when it was last loaded, else an estimate from its file.

        An estimate never exceeds the budget: what is not measured is no reason to refuse a model.
        """
        estimate = min(round(file_bytes * RESIDENT_PER_FILE_BYTE), self.budget_bytes)
        return self._measured_bytes.get(model, estimate)

    def requested(self, model: str, now: float) -> None:
        """Record a request; called for every request, before ``admit``. Without a bound nothing is ever evicted."""
        if self.budget_bytes < UNBOUNDED:
            self._policy.requested(model, now)

    def admit(self, model: str, size_bytes: int) -> list[str]:
        """Reserve room for a model about to be loaded; returns what has to be evicted first.

        Nothing for a model that is resident already. TooLarge where it alone exceeds the budget, NoRoom where too
        much is pinned; both leave the accounts as they were.
        """
        if model in self._resident:
            return []
        evicted = self._make_room(model, size_bytes)
        self._resident[model] = size_bytes
        self._loading.add(model)
        return evicted

    def loaded(self, model: str, size_bytes: int, load_s: float) -> list[str]:
        """An admitted model is loaded and measured; returns what has to be evicted because it is larger than expected.

        Where it cannot stay (TooLarge, NoRoom as in ``admit``) it is no longer accounted for: the caller closes it.
        """
        self._measured_bytes[model] = size_bytes
        self._loading.discard(model)
        del self._resident[model]
        evicted = self._make_room(model, size_bytes)
        self._resident[model] = size_bytes
        self._policy.loaded(model, size_bytes, load_s)
        return evicted

    def released(self, model: str) -> None:
        """The model was closed, or could not be loaded."""
        self._resident.pop(model, None)
        self._loading.discard(model)

    def merged(self, model: str, into: str) -> None:
        """The model was closed, and another that has been loaded does its work: who used it uses that one."""
        self.released(model)
        if pins := self._pins.pop(model, 0):
            self._pins[into] += pins

    def pin(self, model: str) -> None:
        """The model is in use once more; as many ``unpin`` free it."""
        self._pins[model] += 1

    def unpin(self, model: str) -> None:
        self._pins[model] -= 1
        if self._pins[model] <= 0:
            del self._pins[model]

    def is_pinned(self, model: str) -> bool:
        return model in self._pins

    def _make_room(self, model: str, size_bytes: int) -> list[str]:
        if size_bytes > self.budget_bytes:
            raise TooLarge(
                f"{model}: takes {_mib(size_bytes)} of memory, the budget for all models is "
                f"{_mib(self.budget_bytes)}: raise the budget or choose a smaller variant"
            )
        needed_bytes = self.used_bytes + size_bytes - self.budget_bytes
        if needed_bytes <= 0:
            return []
        candidates = {name for name in self._resident if name not in self._pins and name not in self._loading}
        free_bytes = sum(self._resident[name] for name in candidates)
        if free_bytes < needed_bytes:
            raise NoRoom(
                f"{model}: needs {_mib(size_bytes)} of memory, but of {_mib(self.budget_bytes)} only "
                f"{_mib(self.budget_bytes - self.used_bytes + free_bytes)} are free or not in use"
            )
        evicted = self._policy.evict(candidates, needed_bytes)
        for name in evicted:
            del self._resident[name]
        return evicted


def _mib(size_bytes: int) -> str:
    return f"{size_bytes / MIB:.1f} MiB"
