"""What every eviction policy holds to, ours and those that it is compared with."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.eviction_parts.baselines import GDSF, LRU, CremeBrulee, Popularity, Random
from serving.loading.eviction import EvictionPolicy, Forecast, ascending, eviction_set

POLICIES: dict[str, Callable[[], EvictionPolicy]] = {
    "lru": LRU,
    "random": lambda: Random(random.Random(0)),
    "popularity": Popularity,
    "gdsf": GDSF,
    "cremebrulee": CremeBrulee,
    "forecast": Forecast,
}
every_policy = pytest.mark.parametrize("make", POLICIES.values(), ids=POLICIES)


def use(policy: EvictionPolicy, *requests: str, size_bytes: int = 10, load_s: float = 1.0) -> None:
    """Request these models one second after the other; the first request loads."""
    seen: set[str] = set()
    for now, model in enumerate(requests):
        policy.requested(model, float(now))
        if model not in seen:
            policy.loaded(model, size_bytes, load_s)
        seen.add(model)


@every_policy
@given(
    sizes=st.lists(st.integers(1, 9), min_size=1, max_size=8),
    pinned=st.sets(st.integers(0, 7)),
    needed=st.integers(1, 60),
    requests=st.lists(st.integers(0, 7), max_size=30),
)
def test_evicts_enough_of_the_candidates_and_nothing_that_need_not_go(
    make: Callable[[], EvictionPolicy], sizes: list[int], pinned: set[int], needed: int, requests: list[int]
) -> None:
    policy = make()
    size_bytes = {f"model {number}": size for number, size in enumerate(sizes)}
    for now, (model, size) in enumerate(size_bytes.items()):
        policy.requested(model, float(now))
        policy.loaded(model, size, size / 10)
    for now, number in enumerate(requests):
        policy.requested(f"model {number % len(sizes)}", 100.0 + now)
    candidates = {model for number, model in enumerate(size_bytes) if number not in pinned}
    evicted = policy.evict(candidates, needed)
    freed = sum(size_bytes[model] for model in evicted)
    assert len(set(evicted)) == len(evicted)
    assert set(evicted) <= candidates
    assert freed >= needed or set(evicted) == candidates
    assert all(freed - size_bytes[model] < needed for model in evicted[-1:])


@every_policy
def test_what_was_evicted_does_not_go_twice(make: Callable[[], EvictionPolicy]) -> None:
    policy = make()
    use(policy, "a", "b", "c")
    gone = policy.evict({"a", "b", "c"}, 20)
    rest = policy.evict({"a", "b", "c"}, 20)
    assert sorted([*gone, *rest]) == ["a", "b", "c"]


@every_policy
def test_a_model_may_be_loaded_without_a_request(make: Callable[[], EvictionPolicy]) -> None:
    policy = make()
    policy.loaded("a", 10, 1.0)
    assert policy.evict({"a"}, 1) == ["a"]


@every_policy
def test_a_model_without_size_or_load_time_does_no_harm(make: Callable[[], EvictionPolicy]) -> None:
    policy = make()
    use(policy, "a", "b", "a", size_bytes=0, load_s=0.0)
    assert set(policy.evict({"a", "b"}, 1)) == {"a", "b"}


@every_policy
def test_evicted_models_come_back(make: Callable[[], EvictionPolicy]) -> None:
    policy = make()
    for now in range(50):
        policy.requested("a", float(now))
        policy.loaded("a", 10, 1.0)
        assert policy.evict({"a"}, 10) == ["a"]


def test_the_eviction_set_takes_the_lowest_and_then_the_largest_first() -> None:
    sizes = {"small": 1, "middle": 3, "large": 4, "precious": 9}
    assert eviction_set(sizes, sizes, 5) == ["large", "middle"]
    assert eviction_set(sizes, sizes, 1) == ["small"]
    assert eviction_set(sizes, sizes, 4) == ["middle", "small"]
    assert eviction_set(sizes, sizes, 0) == []
    assert eviction_set(sizes, sizes, 99) == ["precious", "large", "middle", "small"]


@given(st.lists(st.floats(0, 9), max_size=100))
def test_places_in_ascending_order_of_utility(utilities: list[float]) -> None:
    places = list(ascending(np.array(utilities)))
    assert sorted(places) == list(range(len(utilities)))
    assert [utilities[place] for place in places] == sorted(utilities)
