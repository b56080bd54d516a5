"""The relaxation that the paper solves instead (Balasubramanian et al., 2021 [GATI], equations 11 to 14).

Caches less accurate than the target are left out; each of the others gets a score from its hit rate and its latency
gain; the sum of the scores of the chosen ones is maximised under the same limits of memory and computation. It knows no
effective hit rates, so it is worse than the exact choice in general.
"""

from __future__ import annotations

from dataclasses import replace

from benchmarks.composition_parts.problem import Cache, Choice, CompositionProblem, expected
from benchmarks.composition_parts.program import LONGEST_S, Edge, edges, shortest

ALPHAS = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
"""Values of α that are tried; .2 was the paper's best."""


def latency_gain(problem: CompositionProblem, cache: Cache) -> float:
    """LG (equation 12): how many times faster a hit is than the whole network."""
    return problem.whole / (problem.until(cache) + cache.lookup)


def score(problem: CompositionProblem, cache: Cache, alpha: float) -> float:
    """S (equation 13)."""
    return alpha * cache.hit_rate + (1 - alpha) * latency_gain(problem, cache)


def relaxed(problem: CompositionProblem, alpha: float, longest_s: float = LONGEST_S) -> Choice | None:
    """The choice with the highest sum of scores among accurate caches; None where the solver has found none in time."""
    kept = [index for index, cache in enumerate(problem.caches) if cache.accuracy >= problem.agreement]
    filtered = replace(problem, caches=[problem.caches[index] for index in kept])

    def cost(edge: Edge) -> float:
        return -score(filtered, filtered.caches[edge[1]], alpha) if edge[1] >= 0 else 0.0

    found = shortest(filtered, edges(filtered, nested=False), cost, False, longest_s)
    return None if found is None else tuple(kept[index] for index in found)


def best_relaxed(problem: CompositionProblem) -> Choice | None:
    """The relaxation with that α whose choice has the least expected latency."""
    found = [choice for alpha in ALPHAS if (choice := relaxed(problem, alpha)) is not None]
    return min(found, key=lambda choice: expected(problem, choice).latency, default=None)
