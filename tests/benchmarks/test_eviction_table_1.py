"""Table I of Ogden et al., 2021, row by row: 14 requests, room for two models, penalty one more than the number."""

from __future__ import annotations

import pytest

from benchmarks.eviction_parts.clairvoyant import BeladyMIN, CremeBruleeOracle
from serving.loading.eviction import EvictionPolicy

REQUESTS = list("01210210202102")
ROOM = 2

BELADY_MIN = """
0 Miss - 0 1
1 Miss - 01 2
2 Miss 0 12 3
1 Hit - 12 0
0 Miss 1 02 1
2 Hit - 02 0
1 Miss 2 01 2
0 Hit - 01 0
2 Miss 1 02 3
0 Hit - 02 0
2 Hit - 02 0
1 Miss 2 01 2
0 Hit - 01 0
2 Miss 0 12 3
"""
CREMEBRULEE_ORACLE = """
0 Miss - 0 1
1 Miss - 01 2
2 Miss 0 12 3
1 Hit - 12 0
0 Miss 1 02 1
2 Hit - 02 0
1 Miss 0 12 2
0 Miss 1 02 1
2 Hit - 02 0
0 Hit - 02 0
2 Hit - 02 0
1 Miss 0 12 2
0 Miss 1 02 1
2 Hit - 02 0
"""


def traced(policy: EvictionPolicy) -> list[str]:
    """Model, hit or miss, what was evicted, the resulting cache and the cost of every request."""
    cache: set[str] = set()
    rows = []
    for now, model in enumerate(REQUESTS):
        policy.requested(model, now)
        evicted: list[str] = []
        hit = model in cache
        if not hit:
            evicted = policy.evict(cache, len(cache) + 1 - ROOM) if len(cache) == ROOM else []
            cache = cache - set(evicted) | {model}
            policy.loaded(model, 1, penalty(model))
        cost = 0 if hit else penalty(model)
        rows.append(f"{model} {'Hit' if hit else 'Miss'} {''.join(evicted) or '-'} {''.join(sorted(cache))} {cost}")
    return rows


def penalty(model: str) -> int:
    return int(model) + 1


@pytest.mark.parametrize(
    ("policy", "table", "total"),
    [(BeladyMIN, BELADY_MIN, 17), (CremeBruleeOracle, CREMEBRULEE_ORACLE, 13)],
)
def test_table_1(policy: type[BeladyMIN] | type[CremeBruleeOracle], table: str, total: int) -> None:
    rows = traced(policy(REQUESTS))
    assert rows == table.split("\n")[1:-1]
    assert sum(int(row.split()[-1]) for row in rows) == total
    assert sum("Miss" in row for row in rows) == 8


def test_no_order_of_evictions_costs_less_than_the_oracle_s() -> None:
    costs = {frozenset[str](): 0}
    for model in REQUESTS:
        following: dict[frozenset[str], int] = {}
        for cache, cost in costs.items():
            for after, more in steps(cache, model):
                following[after] = min(following.get(after, cost + more), cost + more)
        costs = following
    assert min(costs.values()) == 13


def steps(cache: frozenset[str], model: str) -> list[tuple[frozenset[str], int]]:
    """All caches that may follow a request, with its cost."""
    if model in cache:
        return [(cache, 0)]
    if len(cache) < ROOM:
        return [(cache | {model}, penalty(model))]
    return [(cache - {evicted} | {model}, penalty(model)) for evicted in cache]


@pytest.mark.parametrize("policy", [BeladyMIN, CremeBruleeOracle])
def test_a_request_that_was_not_foretold_is_refused(policy: type[BeladyMIN] | type[CremeBruleeOracle]) -> None:
    foretold = policy(["a", "b"])
    foretold.requested("a", 0.0)
    with pytest.raises(ValueError, match="request 1 is for a, which was not foretold"):
        foretold.requested("a", 1.0)
