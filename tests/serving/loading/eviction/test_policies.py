"""The rules of every eviction policy, and the purpose of each."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from serving.loading.eviction import GDSF, LRU, CremeBrulee, EvictionPolicy, Forecast, Popularity, Random, default
from serving.loading.eviction.policy import eviction_set
from serving.loading.eviction.scored import ascending

POLICIES: dict[str, Callable[[], EvictionPolicy]] = {
    "lru": LRU,
    "random": lambda: Random(random.Random(0)),
    "popularity": Popularity,
    "gdsf": GDSF,
    "cremebrulee": CremeBrulee,
    "default": default,
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


def test_lru_evicts_the_longest_unused() -> None:
    policy = LRU()
    use(policy, "a", "b", "c", "a")
    assert policy.evict({"a", "b", "c"}, 10) == ["b"]


def test_popularity_evicts_the_rarest_whatever_it_costs() -> None:
    policy = Popularity()
    use(policy, "a", "a", "b", "c", "c")
    policy.loaded("b", 10, 99.0)
    assert policy.evict({"a", "b", "c"}, 10) == ["b"]


def test_cremebrulee_weighs_popularity_by_penalty_per_byte() -> None:
    policy = CremeBrulee()
    use(policy, "often", "often", "often", "costly", "large", "large", "large")
    policy.loaded("often", 10, 1.0)  # 3 · 1 / 10
    policy.loaded("costly", 10, 4.0)  # 1 · 4 / 10
    policy.loaded("large", 100, 9.0)  # 3 · 9 / 100
    assert policy.evict({"often", "costly", "large"}, 10) == ["large"]
    assert policy.evict({"often", "costly"}, 10) == ["often"]


def test_gdsf_lets_former_favourites_age() -> None:
    policy = GDSF()
    use(policy, "old", "old", "old")
    for now in range(3):
        policy.requested(f"new {now}", 10.0 + now)
        policy.loaded(f"new {now}", 10, 1.0)
        if now < 2:
            assert policy.evict({"old", f"new {now}"}, 10) == [f"new {now}"]
    policy.requested("new 2", 20.0)  # L = 2 · 0.1: now worth 0.4, the old one 0.3
    assert policy.evict({"old", "new 2"}, 10) == ["old"]


def test_gdsf_counts_from_the_load_on() -> None:
    policy = GDSF()
    use(policy, "a", "a", "a", "b", "b")
    assert policy.evict({"a"}, 10) == ["a"]
    policy.requested("a", 9.0)
    policy.loaded("a", 10, 1.0)  # L 0.3 + 1 · 0.1; b 2 · 0.1
    assert policy.evict({"a", "b"}, 10) == ["b"]


def test_chance_is_even_and_seeded() -> None:
    def gone(seed: int) -> str:
        policy = Random(random.Random(seed))
        use(policy, "a", "b", "c", "d")
        return policy.evict({"a", "b", "c", "d"}, 10)[0]

    counts = [sum(gone(seed) == model for seed in range(400)) for model in "abcd"]
    assert all(70 < count < 130 for count in counts)
    assert gone(7) == gone(7)


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


def test_the_default_is_the_forecast() -> None:
    assert isinstance(default(), Forecast)
