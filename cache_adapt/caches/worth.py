"""Would-be savings of caches on looks that went through the whole network, and which of them pay. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cache_adapt.caches.architectures import Values
from cache_adapt.caches.learned_cache import LearnedCache


class Tried(NamedTuple):
    """The caches' answers to N looks."""

    answered: int
    right: int
    """Those of their answers that are the network's."""
    spared: float
    """Share of the network's work that right answers would have spared, 0…1."""
    lookups: float
    """Lookups of one look, on average."""


def tried(
    caches: Sequence[LearnedCache], taps: Sequence[Values], answers: NDArray[np.integer], shares: Sequence[float]
) -> Tried:
    """Ask caches in their order about N looks; the first that is sure answers.

    ``taps``: by cache, N × values; ``answers``: N, the network's; ``shares``: by cache, of the work that is done there.
    """
    left = np.arange(len(answers))
    answered = right = lookups = 0
    spared = 0.0
    for cache, tap, share in zip(caches, taps, shares, strict=True):
        if not len(left):
            break
        lookups += len(left)
        found = cache.look(tap[left])
        hits = int((found.distribution.argmax(axis=1) == answers[left])[found.hit].sum())
        answered, right, spared = answered + int(found.hit.sum()), right + hits, spared + hits * (1 - share)
        left = left[~found.hit]
    count = max(len(answers), 1)
    return Tried(answered, right, spared / count, lookups / count)


def paying(hit_rates: Sequence[float], shares: Sequence[float], lookup: Sequence[float], worth: float) -> list[int]:
    """Which of at most ``MOST_CACHES`` caches to keep, by their places; none where that spares less than ``worth``.

    ``hit_rates``: of all looks; ``shares``: of the work that is done before each; ``lookup``: the cost of each cache's
    lookup; all costs, and ``worth``, as shares of the network's work. What a cache that is left out would have answered
    is taken to go through to the end.

    >>> paying([0.5, 0.01], [0.3, 0.7], [0.02, 0.02], 0.05)
    [0]
    >>> paying([0.5, 0.01], [0.3, 0.7], [0.02, 0.02], 0.5)
    []
    """

    def gain(kept: Sequence[int]) -> float:
        reached, total = 1.0, 0.0
        for place in kept:
            total += hit_rates[place] * (1 - shares[place]) - reached * lookup[place]
            reached -= hit_rates[place]
        return total

    places = range(len(hit_rates))
    best = max((kept for count in range(len(places) + 1) for kept in combinations(places, count)), key=gain)
    return list(best) if gain(best) >= worth else []
