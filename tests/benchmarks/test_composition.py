"""The paper's relaxation, and the arithmetic of the benchmark of composition."""

from __future__ import annotations

import pytest

from benchmarks import composition
from benchmarks.composition_parts.compose import compose
from benchmarks.composition_parts.problem import Cache, CompositionProblem, allowed, expected
from benchmarks.composition_parts.relaxation import best_relaxed, latency_gain, relaxed, score


def test_latency_gain_and_score_are_the_papers() -> None:
    problem = CompositionProblem([1.0, 1.0, 2.0], [Cache(2, "one", 0.5, 1.0, 0.5)], 0.97)
    assert latency_gain(problem, problem.caches[0]) == pytest.approx(4 / 2.5)
    assert score(problem, problem.caches[0], 0.2) == pytest.approx(0.2 * 0.5 + 0.8 * 1.6)


@pytest.mark.parametrize("seed", range(6))
def test_the_relaxation_is_never_better_and_leaves_inaccurate_caches_out(seed: int) -> None:
    problem = composition.instance(seed, 2, 100.0, cuts=6)
    chosen, at_02 = best_relaxed(problem), relaxed(problem, 0.2)
    assert chosen is not None
    assert at_02 is not None
    assert all(problem.caches[index].accuracy >= problem.agreement for index in at_02)
    assert allowed(problem, chosen)
    assert expected(problem, compose(problem)).latency <= expected(problem, chosen).latency + 1e-9


def test_every_way_gets_the_same_instance_and_the_program_no_better_answer() -> None:
    found = {way: composition.solved(way, 1, 1, 100.0) for way in composition.WAYS}
    assert found["program"]["latency"] == pytest.approx(found["search"]["latency"], rel=1e-4)
    assert found["relaxation"]["latency"] >= found["search"]["latency"]


def test_a_program_that_found_nothing_is_counted() -> None:
    case = {"caches": 57, "budget_mb": 100.0, "seed": 0, "chosen": 3}
    rows = [
        {**case, "way": way, "processor_s": s, "memory_mb": 10.0 * s, "latency": latency, "over_search": over}
        for way, s, latency, over in (
            ("search", 0.1, 0.5, 0.0),
            ("program", 20.0, None, None),
            ("relaxation", 1.0, 0.6, 0.2),
        )
    ]
    found = composition.headline(rows)
    assert found["program_57"] == {"processor_s": 20.0, "memory_mb": 200.0, "none_found": 1, "worst_over_search": None}
    assert found["relaxation_57"]["worst_over_search"] == 0.2
