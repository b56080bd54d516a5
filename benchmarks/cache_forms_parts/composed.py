"""Choices of caches, by the programme and by others, replayed on inputs that none of them has seen."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from benchmarks.cache_forms_parts.caches import AGREEMENT, TrainedCache
from benchmarks.cache_forms_parts.forms import CONV, FC, POOL
from benchmarks.composition_parts.compose import compose
from benchmarks.composition_parts.problem import Cache, Choice, CompositionProblem, allowed
from benchmarks.composition_parts.relaxation import ALPHAS, latency_gain, relaxed
from benchmarks.harness import Row
from serving.common.tensors import Array

PAPERS_GPU = {FC: 0.43 / 5.31, POOL: 0.53 / 5.31, CONV: 0.48 / 5.31}
"""A lookup's share of a ResNet-18's time on the paper's GPU (Table 4; 1.28 times 4.15 ms, Appendix A.2)."""


@dataclass(frozen=True)
class Composition:
    """The caches of one loss, and what to choose among."""

    caches: Mapping[tuple[int, str], TrainedCache]
    problem: CompositionProblem

    @classmethod
    def of(cls, caches: Sequence[TrainedCache], until_s: Sequence[float]) -> Composition:
        """``until_s``: until the end of each block, then of the network."""
        layers = [later - earlier for earlier, later in pairwise([0.0, *until_s])]
        points = [point for cache in sorted(caches, key=lambda c: c.predictor.block) for point in cache.points()]
        return cls(
            {(c.predictor.block, c.predictor.form): c for c in caches}, CompositionProblem(layers, points, AGREEMENT)
        )

    def chosen(self, choice: Choice) -> list[tuple[TrainedCache, Cache, float]]:
        """Each cache, what was expected of it, its threshold."""
        found = []
        for point in (self.problem.caches[index] for index in choice):
            form, part = point.name.split(":")
            cache = self.caches[point.layer, form]
            found.append((cache, point, cache.threshold(float(part))))
        return found

    def places(self, choice: Choice) -> tuple[Array, Array]:
        """For each unseen input: which of the chosen caches answers it, or their number, and whether that is right."""
        chosen = self.chosen(choice)
        count = len(next(iter(self.caches.values())).unseen.right)
        place, right = np.full(count, len(chosen)), np.ones(count, bool)
        for number, (cache, _, threshold) in reversed(list(enumerate(chosen))):
            hits = cache.unseen.hits(threshold)
            place[hits], right[hits] = number, cache.unseen.right[hits]
        return place, right

    def latencies(self, choice: Choice, until_s: Sequence[float]) -> list[float]:
        """What an input takes that leaves at each chosen cache, then what one takes that leaves nowhere."""
        found, asked_s = [], 0.0
        for cache, _, _ in self.chosen(choice):
            asked_s += cache.lookup_s
            found.append(until_s[cache.predictor.block - 1] + asked_s)
        return [*found, until_s[-1] + asked_s]


def ways(composed: Composition) -> Iterator[tuple[str, Choice]]:
    """The programme, the relaxation by its α, two greedy choices, and the programme with another machine's profile."""
    problem = composed.problem
    yield "programme", compose(problem)
    for alpha in ALPHAS:
        yield f"relaxed {alpha:g}", relaxed(problem, alpha) or ()
    yield "greedy by latency", _greedy(problem, [latency_gain(problem, cache) for cache in problem.caches])
    yield "greedy by hits", _greedy(problem, [cache.hit_rate for cache in problem.caches])
    elsewhere = [replace(c, lookup=PAPERS_GPU[c.name.split(":")[0]] * problem.whole) for c in problem.caches]
    yield "profile of a GPU", compose(replace(problem, caches=elsewhere))


def replayed(composed: Composition, until_s: Sequence[float], way: str, choice: Choice) -> Row:
    """What a choice does."""
    place, right = composed.places(choice)
    latency = np.array(composed.latencies(choice, until_s))
    return {
        "form": way,
        "accuracy": float(right.mean()),
        "hit_rate": float((place < len(latency) - 1).mean()),
        "mean_ms": 1e3 * float(latency[place].mean()),
        "whole_ms": 1e3 * until_s[-1],
        "chosen": " ".join(f"{cache.layer}:{cache.name}" for _, cache, _ in composed.chosen(choice)),
    }


def in_pairs(composed: Composition, choice: Choice, one_s: Sequence[float], two_s: Sequence[float]) -> Iterator[Row]:
    """Inputs alone, and two in a batch that goes on until both have left (§7.2.1)."""
    place, _ = composed.places(choice)
    pairs = np.maximum(*place[: len(place) // 2 * 2].reshape(-1, 2).T)
    for name, until_s, leaving in (("batch of 1", one_s, place), ("batch of 2", two_s, pairs)):
        latency = np.array(composed.latencies(choice, until_s))
        yield {"form": name, "mean_ms": 1e3 * float(latency[leaving].mean()), "whole_ms": 1e3 * until_s[-1]}


def _greedy(problem: CompositionProblem, values: Sequence[float]) -> Choice:
    """One cache after the other, the most valuable first, while all that is allowed is kept."""
    chosen: Choice = ()
    for index in sorted(range(len(values)), key=lambda index: -values[index]):
        layers = {problem.caches[each].layer for each in chosen}
        tried = tuple(sorted((*chosen, index), key=lambda each: problem.caches[each].layer))
        if problem.caches[index].layer not in layers and allowed(problem, tried):
            chosen = tried
    return chosen
