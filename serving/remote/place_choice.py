"""The place of a network that may run here or at a backend, ``MODEL on auto``: the cheapest of those that are quick
enough, and of equal ones where an answer is there sooner.

Each place has a mean time of requests with about as many pictures. Places that are clearly dearer than one that is
quick enough are neither taken nor tried, as each try is paid. Of the others one is taken once it is clearly faster,
and those that are not taken are tried now and then: one request of many, and no more often than every few seconds. A
place that has failed is left alone, for longer each time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from random import Random

from serving.common.retrying import Backoff
from serving.scheduling.requests import PriceAt, free

NEWEST = 0.2
"""Share of the newest request in the mean of the place that is taken."""
NEWEST_TRY = 0.5
"""The same of a place that is tried, which is seldom asked."""
MARGIN = 0.8
"""Another place has to take less than this share of the time, or of the price."""
APART_S = 5.0
"""Seconds from one change to the next."""
FIRST_TRIES = 3
"""Requests by which a place is known at first."""
EVERY = 64
"""One request of so many tries a place that is not taken, and none before ``TRIED_S`` have passed since the last."""
TRIED_S = 5.0
AWAY = Backoff(first_s=1.0, max_s=60.0)
SIZES = 6
"""Numbers of pictures are told apart by powers of two, up to this one."""


@dataclass(slots=True)
class _Place:
    means_s: dict[int, float] = field(default_factory=dict)
    """Mean seconds of a request, by the power of two of its pictures."""
    requests: int = 0
    tried_s: float = -inf
    failures: int = 0
    back_s: float = -inf
    """When it may be taken again."""

    def mean_s(self, size: int) -> float | None:
        """That of the nearest size which is known, in proportion to the pictures."""
        if not self.means_s:
            return None
        near = min(self.means_s, key=lambda known: abs(known - size))
        return self.means_s[near] * 2.0 ** (size - near)


class PlaceChoice:
    def __init__(self, names: Sequence[str], rng: Random, quick_s: float = inf) -> None:
        """``names``: of the model at each place; the first is taken as long as nothing is known.

        ``quick_s``: a request that takes so long is quick enough.
        """
        self._places, self._quick_s = {name: _Place() for name in names}, quick_s
        self._taken, self._changed_s = names[0], -inf
        self._size, self._since = 0, 0
        self._rng = rng

    def choose(self, now_s: float, may_answer: Callable[[str], bool], price: PriceAt = free) -> str:
        """The name under which the next request is to be made."""
        there = [name for name, place in self._places.items() if now_s >= place.back_s and may_answer(name)]
        if not there:
            return next(iter(self._places))
        there = self._worth({name: price(name) for name in there})
        self._since += 1
        if (tried := self._to_try(there, now_s)) is not None:
            self._since, self._places[tried].tried_s = 0, now_s
            return tried
        return self._best(there, now_s)

    def took(self, name: str, items: int, took_s: float) -> None:
        """A request with so many pictures was answered."""
        if (place := self._places.get(name)) is None:
            return
        self._size = size = min(max(items - 1, 0).bit_length(), SIZES)
        mean_s = place.means_s.get(size, took_s)
        place.means_s[size] = mean_s + (NEWEST if name == self._taken else NEWEST_TRY) * (took_s - mean_s)
        place.requests, place.failures = place.requests + 1, 0

    def failed(self, name: str, now_s: float) -> None:
        if (place := self._places.get(name)) is not None:
            place.back_s = now_s + AWAY.delay_s(place.failures, self._rng)
            place.failures += 1

    def _worth(self, prices: Mapping[str, float]) -> list[str]:
        """The places that are paid for and not clearly dearer than one that is quick enough; all, if none is paid."""
        quick = min((price for name, price in prices.items() if self._is_quick(name)), default=inf)
        return [name for name, price in prices.items() if price < inf and MARGIN * price <= quick] or list(prices)

    def _is_quick(self, name: str) -> bool:
        """A place that is not taken has to be so by a margin."""
        mean_s = self._places[name].mean_s(self._size)
        return mean_s is not None and mean_s <= self._quick_s * (1 if name == self._taken else MARGIN)

    def _to_try(self, there: Sequence[str], now_s: float) -> str | None:
        """A place to try; one that is not known yet comes first."""
        for name in there:
            if self._places[name].requests < FIRST_TRIES:
                return name
        idle = [name for name in there if name != self._taken and now_s - self._places[name].tried_s >= TRIED_S]
        return min(idle, key=lambda name: self._places[name].tried_s) if idle and self._since >= EVERY else None

    def _best(self, there: Sequence[str], now_s: float) -> str:
        taken = self._taken if self._taken in there else there[0]
        means_s = {name: mean_s for name in there if (mean_s := self._places[name].mean_s(self._size)) is not None}
        fastest = min(means_s, key=lambda name: means_s[name], default=taken)
        clearly = means_s.get(fastest, 0.0) < MARGIN * means_s.get(taken, inf)
        if taken != self._taken or (clearly and now_s - self._changed_s >= APART_S):
            taken = fastest if clearly else taken
            self._taken, self._changed_s = taken, now_s
        return self._taken
