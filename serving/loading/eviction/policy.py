"""The protocol of eviction policies, and the choice of models to evict by utility.

Model-level caching: Ogden, Gilman, Walls and Guo, "Many Models at the Edge", 2021, §IV–V.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from typing import Protocol


class EvictionPolicy(Protocol):
    """Decides which resident models make room for another; it knows requests and loads only.

    On a miss the calls come in this order: ``requested``, ``evict`` where room is short, ``loaded``.
    """

    def requested(self, model: str, now: float) -> None:
        """A request for the model has arrived, whether it is resident or not; ``now`` in seconds never falls."""
        ...

    def loaded(self, model: str, size_bytes: int, load_s: float) -> None:
        """The model is resident; both figures are measured, ``load_s`` is the penalty of a miss."""
        ...

    def evict(self, candidates: Container[str], needed_bytes: int) -> list[str]:
        """Models that give back at least so much and are no longer resident hereafter, all of them candidates.

        Candidates are the resident models that nobody uses. Less than needed only where they hold no more.
        """
        ...


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
