"""A network, the caches that exploration has tried, and what a choice among them is expected to do. Pure.

Symbols of Balasubramanian et al. (2021) [GATI], appendix A.1: layers i = 1 … N of latency L_i; a cache has a hit rate
H, accuracy A of its hits, lookup latency T, memory M. Hits of a later cache include those of earlier ones, so that its
effective hit rate EH is H less what left before. Equation 5 as printed subtracts only the EH of the cache just before,
which counts some inputs twice with three caches; text and examples mean all that left before, and so does this.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

WORTH = 0.05
"""Caches must make what runs without them faster by this share."""

ROUNDING = 1e-9
"""Sums may exceed a limit by so much."""

Choice = tuple[int, ...]
"""Indices of caches, in the order of the network."""


@dataclass(frozen=True, slots=True)
class Cache:
    """One cache that may be built in."""

    layer: int
    """i, 1 … N: it reads this layer's output."""
    name: str
    hit_rate: float
    """H: share of all inputs that it would answer by itself."""
    accuracy: float
    """A: share of its hits that the network agrees with."""
    lookup: float
    """T, in the unit of the layers' latencies, with what the cut costs."""
    memory: float = 0.0
    """M, in the unit of the budget."""


@dataclass(frozen=True, slots=True)
class CompositionProblem:
    """The caches to choose from, and the constraints."""

    layers: Sequence[float]
    """L_1 … L_N."""
    caches: Sequence[Cache]
    agreement: float
    """Share of the inputs that must get the network's answer."""
    memory: float = float("inf")
    overlapping: bool = False
    """Lookups run beside the network, one at a time (the paper's GPU); else an input waits for each it reaches."""

    def until(self, cache: Cache) -> float:
        """The network's latency up to a cache's layer."""
        return sum(self.layers[: cache.layer])

    @property
    def whole(self) -> float:
        """The network's latency."""
        return sum(self.layers)


@dataclass(frozen=True, slots=True)
class Expected:
    """A choice's effect, on average."""

    latency: float
    agreement: float
    hits: tuple[float, ...]
    """EH of each cache."""
    memory: float


def effective_hits(rates: Sequence[float]) -> tuple[float, ...]:
    """EH for hit rates in the order of the network (equation 5).

    >>> [round(each, 3) for each in effective_hits([0.341, 0.629])]
    [0.341, 0.288]
    """
    found, before = [], 0.0
    for rate in rates:
        found.append(max(rate - before, 0.0))
        before = max(before, rate)
    return tuple(found)


def expected(problem: CompositionProblem, choice: Choice) -> Expected:
    """Latency (equation 10), agreement (7) and memory (8) of a choice."""
    caches = [problem.caches[index] for index in choice]
    hits = effective_hits([cache.hit_rate for cache in caches])
    rest, latency, wrong = 1.0, 0.0, 0.0
    for cache, share in zip(caches, hits, strict=True):
        latency += share * problem.until(cache)
        latency += cache.lookup * (share if problem.overlapping else rest)
        wrong += share * (1 - cache.accuracy)
        rest -= share
    return Expected(latency + rest * problem.whole, 1 - wrong, hits, sum(cache.memory for cache in caches))


def allowed(problem: CompositionProblem, choice: Choice) -> bool:
    """Whether a choice keeps agreement, memory, and one lookup at a time (equations 7 to 9)."""
    found = expected(problem, choice)
    if found.agreement < problem.agreement - ROUNDING or found.memory > problem.memory + ROUNDING:
        return False
    caches = [problem.caches[index] for index in choice]
    ends = [*map(problem.until, caches), problem.whole][1:]
    return all(in_time(problem, cache, end) for cache, end in zip(caches, ends, strict=False))


def in_time(problem: CompositionProblem, cache: Cache, end: float) -> bool:
    """Whether a lookup beside the network is over when the network has come so far (equation 9)."""
    return not problem.overlapping or cache.lookup <= end - problem.until(cache) + ROUNDING
