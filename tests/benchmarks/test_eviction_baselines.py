"""The purpose of each eviction policy that ours is compared with."""

from __future__ import annotations

import random

from benchmarks.eviction_parts.baselines import GDSF, LRU, CremeBrulee, Popularity, Random
from tests.serving.loading.test_eviction import use


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
