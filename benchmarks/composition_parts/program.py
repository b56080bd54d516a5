"""The best choice of caches as an integer program: one binary variable for each step of a path over caches.

HiGHS solves it. It finds what ``benchmarks.composition_parts.compose`` finds, and is here to be compared with.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_array

from benchmarks.composition_parts.problem import Choice, CompositionProblem, in_time

LONGEST_S = 300.0
"""The solver is given up after so long."""
START, END = -1, -2
Edge = tuple[int, int]
Cost = Callable[[Edge], float]


def programmed(problem: CompositionProblem, longest_s: float = LONGEST_S) -> Choice | None:
    """The choice with the least expected latency; None where the solver has found none in time."""
    return shortest(problem, edges(problem), lambda edge: _latency(problem, edge), True, longest_s)


def edges(problem: CompositionProblem, nested: bool = True) -> list[Edge]:
    """From each cache, or the input, to each that may follow, or to the output.

    ``nested``: a cache follows only one that answers fewer inputs; one that answers no others brings nothing.
    """
    caches = problem.caches
    found = [(START, END)]
    for later, cache in enumerate(caches):
        before = [
            index
            for index, each in enumerate(caches)
            if each.layer < cache.layer
            and (not nested or each.hit_rate < cache.hit_rate)
            and in_time(problem, each, problem.until(cache))
        ]
        found += [(index, later) for index in (START, *before)]
        if in_time(problem, cache, problem.whole):
            found.append((later, END))
    return found


def shortest(
    problem: CompositionProblem, ways: Sequence[Edge], cost: Cost, wrong: bool, longest_s: float
) -> Choice | None:
    """The path of least cost within memory and, if ``wrong`` answers count, within what the agreement allows."""
    caches = problem.caches
    count = len(caches)
    rows = {START: count, END: count + 1} | {index: index for index in range(count)}
    flow = np.zeros((count + 2, len(ways)))
    for column, (tail, head) in enumerate(ways):
        flow[rows[tail], column] -= 1
        flow[rows[head], column] += 1
    balance = np.zeros(count + 2)
    balance[rows[START]], balance[rows[END]] = -1, 1
    limits = [LinearConstraint(csr_array(flow), balance, balance)]
    if np.isfinite(problem.memory):
        memory = [caches[head].memory if head >= 0 else 0.0 for _, head in ways]
        limits.append(LinearConstraint(np.array([memory]), -np.inf, problem.memory))
    if wrong:
        errors = [_wrong(problem, edge) for edge in ways]
        limits.append(LinearConstraint(np.array([errors]), -np.inf, 1 - problem.agreement))
    costs = np.array([cost(edge) for edge in ways])
    found = milp(costs, integrality=1, bounds=Bounds(0, 1), constraints=limits, options={"time_limit": longest_s})
    if found.x is None:
        return None
    following = {tail: head for (tail, head), taken in zip(ways, found.x, strict=True) if taken > 0.5}
    return _path(following)


def _path(following: dict[int, int]) -> Choice:
    choice, place = [], following[START]
    while place != END:
        choice.append(place)
        place = following[place]
    return tuple(choice)


def _share(problem: CompositionProblem, edge: Edge) -> tuple[float, float]:
    """Share of the inputs that come along an edge, and that leave at its end."""
    tail, head = edge
    before = problem.caches[tail].hit_rate if tail >= 0 else 0.0
    hits = max(problem.caches[head].hit_rate - before, 0.0) if head >= 0 else 0.0
    return 1 - before, hits


def _latency(problem: CompositionProblem, edge: Edge) -> float:
    """What the cache at the end of an edge adds to the expected latency."""
    coming, hits = _share(problem, edge)
    if edge[1] == END:
        return coming * problem.whole
    cache = problem.caches[edge[1]]
    return hits * problem.until(cache) + cache.lookup * (hits if problem.overlapping else coming)


def _wrong(problem: CompositionProblem, edge: Edge) -> float:
    head = edge[1]
    return _share(problem, edge)[1] * (1 - problem.caches[head].accuracy) if head >= 0 else 0.0
