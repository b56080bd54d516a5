"""A trace of requests through a cache of models, in virtual time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.eviction_parts.measured import Measured
from datasets.requests import Correlation, associate, generate
from serving.loading.eviction import EvictionPolicy


@dataclass(frozen=True)
class Workload:
    """Requests, and what their models cost to load."""

    requests: Sequence[str]
    times_s: Sequence[float]
    cost: Mapping[str, Measured]

    @property
    def total_bytes(self) -> int:
        """Memory that all models take together."""
        return sum(each.size_bytes for each in self.cost.values())


@dataclass(frozen=True, slots=True)
class Delay:
    """What a cache cost its users."""

    load_s: float
    """Mean per request: the model load delay (§VI-A)."""
    misses: float
    """Share of the requests."""


def workload(networks: Sequence[Measured], how: Correlation, drift: float, seed: int, minutes: int = 60) -> Workload:
    """A trace with every model being one of the measured networks; all models have names of their own."""
    rng = np.random.default_rng(seed)
    trace = generate(rng, drift=drift, minutes=minutes)
    chosen = associate(rng, trace.counts, np.array([each.load_s for each in networks]), how)
    names = [f"model {number:04d}" for number in range(len(chosen))]
    cost = {name: networks[number] for name, number in zip(names, chosen, strict=True)}
    return Workload([names[number] for number in trace.models], trace.times_s.tolist(), cost)


def simulate(work: Workload, budget_bytes: int, policy: EvictionPolicy) -> Delay:
    """Every request in turn; the cache is empty at first, and loading takes no virtual time."""
    cache: dict[str, int] = {}
    free_bytes = budget_bytes
    load_s, misses = 0.0, 0
    for model, now in zip(work.requests, work.times_s, strict=True):
        policy.requested(model, now)
        if model in cache:
            continue
        cost = work.cost[model]
        if cost.size_bytes > free_bytes:
            free_bytes += sum(cache.pop(gone) for gone in policy.evict(cache, cost.size_bytes - free_bytes))
        cache[model] = cost.size_bytes
        free_bytes -= cost.size_bytes
        policy.loaded(model, cost.size_bytes, cost.load_s)
        load_s, misses = load_s + cost.load_s, misses + 1
    return Delay(load_s / len(work.requests), misses / len(work.requests))
