"""Composition against exhaustive search, against the integer program, and against the paper's table."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks import composition
from benchmarks.composition_parts.compose import compose
from benchmarks.composition_parts.problem import Cache, Choice, CompositionProblem, allowed, effective_hits, expected
from benchmarks.composition_parts.program import programmed


def instance(seed: int, overlapping: bool = False, memory: float = float("inf")) -> CompositionProblem:
    rng = np.random.default_rng(seed)
    layers = rng.uniform(0.5, 2, 5)
    base = np.sort(rng.uniform(0.05, 0.95, 5))
    caches = [
        Cache(
            layer,
            f"{layer}.{kind}",
            float(np.clip(base[layer - 1] + rng.normal(0, 0.08), 0, 1)),
            float(rng.uniform(0.9, 1)),
            float(rng.uniform(0.02, 0.6)),
            float(rng.integers(1, 10)),
        )
        for layer in range(1, 6)
        for kind in range(2)
    ]
    return CompositionProblem(layers.tolist(), caches, 0.96, memory, overlapping)


def all_choices(problem: CompositionProblem) -> list[Choice]:
    """At most one cache for each layer."""
    by_layer = [
        [None, *(index for index, cache in enumerate(problem.caches) if cache.layer == layer)]
        for layer in range(1, len(problem.layers) + 1)
    ]
    return [tuple(each for each in combination if each is not None) for combination in product(*by_layer)]


@pytest.mark.parametrize("overlapping", [False, True])
@pytest.mark.parametrize("memory", [float("inf"), 12.0])
@pytest.mark.parametrize("seed", range(8))
def test_the_choice_is_as_good_as_that_of_an_exhaustive_search(seed, memory, overlapping):
    problem = instance(seed, overlapping, memory)
    best = min(expected(problem, choice).latency for choice in all_choices(problem) if allowed(problem, choice))
    found = compose(problem)
    assert allowed(problem, found)
    assert expected(problem, found).latency == pytest.approx(best)


SHARES = st.floats(0, 1)
CACHES = st.builds(
    Cache, st.integers(1, 4), st.just("any"), SHARES, SHARES, st.floats(0, 1.5), st.sampled_from([0.0, 1.0, 2.0, 5.0])
)
PROBLEMS = st.builds(
    CompositionProblem,
    st.lists(st.floats(0.1, 2), min_size=4, max_size=4),
    st.lists(CACHES, max_size=6),
    st.sampled_from([0.5, 0.9, 0.99, 1.0]),
    st.sampled_from([float("inf"), 0.0, 3.0, 6.0]),
    st.booleans(),
)
"""Caches in any order, several at one layer, some that answer nothing, or all, or all wrong."""


@given(PROBLEMS)
def test_no_allowed_choice_is_faster(problem: CompositionProblem) -> None:
    found = compose(problem)
    assert allowed(problem, found)
    fastest = min(expected(problem, choice).latency for choice in all_choices(problem) if allowed(problem, choice))
    assert expected(problem, found).latency == pytest.approx(fastest)


@pytest.mark.parametrize("memory", [float("inf"), 12.0])
@pytest.mark.parametrize("seed", range(4))
def test_the_choice_is_as_good_as_that_of_the_integer_program(seed, memory):
    problem = instance(seed, memory=memory)
    program = programmed(problem, longest_s=600)
    assert program is not None
    assert expected(problem, compose(problem)).latency == pytest.approx(expected(problem, program).latency, rel=1e-5)


def fastest_by_dominance(problem: CompositionProblem) -> float:
    """The least latency with any memory: all sums of latency and wrong answers that no other beats, cache by cache."""
    fronts: list[list[tuple[float, float]]] = []
    fastest = problem.whole
    for place, cache in enumerate(problem.caches):
        came = [(0.0, [(0.0, 0.0)])]
        came += [
            (before.hit_rate, fronts[earlier])
            for earlier, before in enumerate(problem.caches[:place])
            if before.layer < cache.layer and before.hit_rate < cache.hit_rate
        ]
        sums = sorted(
            (
                latency + (cache.hit_rate - left) * problem.until(cache) + (1 - left) * cache.lookup,
                wrong + (cache.hit_rate - left) * (1 - cache.accuracy),
            )
            for left, front in came
            for latency, wrong in front
        )
        front: list[tuple[float, float]] = []
        for latency, wrong in sums:
            if wrong <= 1 - problem.agreement and (not front or wrong < front[-1][1]):
                front.append((latency, wrong))
        fronts.append(front)
        if front:
            fastest = min(fastest, front[0][0] + (1 - cache.hit_rate) * problem.whole)
    return fastest


@pytest.mark.parametrize("seed", range(2))
def test_as_many_caches_as_a_resnet_50_has_are_composed_exactly(seed):
    problem = composition.instance(seed, 4, float("inf"))
    assert len(problem.caches) == 228
    found = compose(problem, most_labels=20_000)
    assert allowed(problem, found)
    assert expected(problem, found).latency == pytest.approx(fastest_by_dominance(problem))


def test_a_search_that_is_ended_early_has_an_allowed_choice():
    problem = composition.instance(0, 4, 100.0)
    few, best = compose(problem, most_labels=300), compose(problem)
    assert allowed(problem, few)
    assert expected(problem, best).latency <= expected(problem, few).latency < problem.whole
    assert compose(problem, most_labels=1) == ()


def table_4() -> list[Cache]:
    """ResNet-18 on a CPU, as printed; latencies in ms, memory in MB."""
    return [
        Cache(3, "FC(1024)", 0.388, 0.973, 6.08, 268),
        Cache(3, "Pool(8192)", 0.341, 0.967, 1.32, 33),
        Cache(3, "Conv(3,1)", 0.204, 0.962, 1.66, 2),
        Cache(6, "FC(1024)", 0.629, 0.995, 2.94, 134),
        Cache(6, "Pool(8192)", 0.544, 0.962, 0.64, 33),
        Cache(6, "Conv(3,1)", 0.494, 0.993, 0.68, 0.8),
    ]


def test_the_hits_of_the_second_option_split_as_in_the_paper():
    hits = effective_hits([0.341, 0.629])
    assert hits == pytest.approx((0.341, 0.288))
    assert 1 - sum(hits) == pytest.approx(0.371)


def test_of_table_4_the_second_option_is_preferred_to_the_first():
    problem = CompositionProblem([27.36 / 8] * 8, table_4(), 0.96, 564, overlapping=True)
    greedy, second = expected(problem, (0,)), expected(problem, (1, 3))
    assert second.latency < greedy.latency
    assert expected(problem, compose(problem)).latency <= second.latency


def test_hits_are_counted_once_with_three_caches_too():
    assert effective_hits([0.2, 0.5, 0.7]) == pytest.approx((0.2, 0.3, 0.2))
    assert effective_hits([0.5, 0.4]) == pytest.approx((0.5, 0.0))


def test_memory_moves_the_choice_to_smaller_caches():
    layers = [27.36 / 8] * 8
    rich = compose(CompositionProblem(layers, table_4(), 0.96, 564, overlapping=True))
    poor = compose(CompositionProblem(layers, table_4(), 0.96, 40, overlapping=True))
    assert sum(table_4()[index].memory for index in poor) <= 40
    assert rich != poor


def test_a_lookup_that_is_not_over_in_time_is_not_chosen():
    slow = Cache(1, "slow", 0.9, 1.0, 3.0)
    assert compose(CompositionProblem([1.0, 1.0, 1.0], [slow], 0.97, overlapping=True)) == ()


def test_nothing_is_built_where_lookups_cost_what_they_save():
    weak = [Cache(1, "weak", 0.1, 1.0, 0.5), Cache(2, "wrong", 0.9, 0.5, 0.01)]
    assert compose(CompositionProblem([1.0, 1.0, 1.0], weak, 0.97)) == ()


def test_no_caches_no_choice():
    assert compose(CompositionProblem([1.0, 2.0], [], 0.97)) == ()
