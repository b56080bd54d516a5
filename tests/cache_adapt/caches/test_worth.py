"""What caches spare, and which of them pay: by hand, and against simulated looks."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from cache_adapt.caches.learned_cache import LearnedCache
from cache_adapt.caches.predictor import Predictor
from cache_adapt.caches.worth import paying, tried


def cache(threshold: float) -> LearnedCache:
    """Says the largest of three values; surer the larger it is."""
    weights = (np.eye(3, dtype=np.float32), np.zeros(3, np.float32))
    return LearnedCache("cut", Predictor("Pool(3)", (3, 1, 1), None, weights), None, threshold)


def test_the_first_that_is_sure_answers_and_only_right_answers_spare():
    sure, unsure = [9.0, 0, 0], [0.1, 0, 0]
    early = np.float32([sure, sure, unsure, unsure])
    late = np.float32([unsure, unsure, sure, unsure])
    found = tried([cache(0.1), cache(0.1)], [early, late], np.array([0, 1, 0, 0]), [0.25, 0.5])
    assert (found.answered, found.right) == (3, 2)
    assert found.spared == pytest.approx((0.75 + 0.5) / 4)
    assert found.lookups == pytest.approx((4 + 2) / 4)


def test_of_no_looks_nothing_is_spared():
    none = np.zeros((0, 3), np.float32)
    assert tried([cache(0.1)], [none], np.zeros(0, int), [0.5]) == (0, 0, 0.0, 0.0)


def simulated(kept, hits, shares, lookup):
    """Work that is spared in 10,000 looks, of which each cache could answer its own."""
    counts = [round(10_000 * hit) for hit in hits]
    owner = np.repeat([*range(len(hits)), -1], [*counts, 10_000 - sum(counts)])
    spared = 0.0
    for one in owner:
        for place in kept:
            spared -= lookup[place]
            if one == place:
                spared += 1 - shares[place]
                break
    return spared / 10_000


@pytest.mark.parametrize("seed", range(5))
def test_no_other_choice_spares_more(seed):
    rng = np.random.default_rng(seed)
    hits = np.round(rng.dirichlet(np.ones(4))[:3] * rng.random(), 4).tolist()
    shares, lookup = np.sort(rng.random(3)).tolist(), (0.1 * rng.random(3)).tolist()
    every = [kept for count in range(4) for kept in combinations(range(3), count)]
    best = max(simulated(kept, hits, shares, lookup) for kept in every)
    assert simulated(paying(hits, shares, lookup, 0.0), hits, shares, lookup) == pytest.approx(best)


def test_a_dearer_machine_for_lookups_keeps_fewer():
    hits, shares = [0.4, 0.05], [0.3, 0.7]
    assert paying(hits, shares, [0.005, 0.005], 0.05) == [0, 1]
    assert paying(hits, shares, [0.03, 0.03], 0.05) == [0]
    assert paying(hits, shares, [0.3, 0.3], 0.05) == []
    assert paying([], [], [], 0.05) == []
