"""Splits of an SLO against the tables of Nexus and brute force."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.split_parts.given import even_split, served, split_as
from pipelines.planning.latency_split import Stage, batch_throughput, best_split
from pipelines.planning.node_times import HALF_LIFE, FanOut

X = {0.040: 200.0, 0.050: 250.0, 0.060: 300.0}
Y = {0.040: 300.0, 0.050: 400.0, 0.060: 500.0}
"""Table 3.3: items a second by latency."""
TABLE_3_4 = {
    (40, 60): {0.1: 192.3, 1.0: 142.9, 10.0: 40.0},
    (50, 50): {0.1: 235.3, 1.0: 153.8, 10.0: 34.5},
    (60, 40): {0.1: 272.7, 1.0: 150.0, 10.0: 27.3},
}
"""Average throughput by budgets of X and Y in milliseconds, and α."""


def query(alpha: float) -> list[Stage]:
    return [Stage("X", None, 1.0, X), Stage("Y", "X", alpha, Y)]


@pytest.mark.parametrize("budgets", TABLE_3_4)
@pytest.mark.parametrize("alpha", [0.1, 1.0, 10.0])
def test_every_cell_of_table_3_4(budgets: tuple[int, int], alpha: float) -> None:
    found = split_as(query(alpha), dict(zip("XY", (ms / 1000 for ms in budgets), strict=True)))
    assert found is not None
    assert round(1 / found.workers, 1) == TABLE_3_4[budgets][alpha]


@pytest.mark.parametrize(("alpha", "best"), [(0.1, (60, 40)), (1.0, (50, 50)), (10.0, (40, 60))])
def test_the_best_split_is_the_bold_cell(alpha: float, best: tuple[int, int]) -> None:
    found = best_split(query(alpha), 0.100)
    assert found is not None
    assert [round(1000 * found.budgets_s[name]) for name in "XY"] == list(best)
    assert round(1 / found.workers, 1) == TABLE_3_4[best][alpha]


def test_an_slo_that_no_split_meets() -> None:
    assert best_split(query(1.0), 0.079) is None
    assert even_split(query(1.0), 0.079) is None
    assert best_split(query(1.0), 0.080) is not None


def test_stages_beside_each_other_share_a_budget() -> None:
    stages = [Stage("ssd", None, 1.0, X), Stage("face", "ssd", 2.0, Y), Stage("car", "ssd", 0.5, X)]
    found = best_split(stages, 0.100)
    assert found is not None
    assert found.budgets_s["face"] == found.budgets_s["car"] == pytest.approx(0.1 - found.budgets_s["ssd"])
    even = even_split(stages, 0.100)
    assert even is not None
    assert set(even.budgets_s.values()) == {0.05}


def test_a_stage_that_is_never_asked_needs_nobody() -> None:
    found = best_split([Stage("X", None, 1.0, X), Stage("Y", "X", 0.0, Y)], 0.1)
    assert found is not None
    assert found.workers == pytest.approx(1 / 300)
    assert found.budgets_s["X"] == 0.060


def test_circles_and_unknown_sources_are_refused() -> None:
    for source in ("Y", "elsewhere"):
        with pytest.raises(ValueError, match="circle"):
            best_split([Stage("Y", source, 1.0, Y)], 1.0)


def test_an_item_waits_for_one_batch_and_runs_in_the_next() -> None:
    assert batch_throughput({1: 0.01, 4: 0.02}) == {0.02: 100.0, 0.04: 200.0}
    assert served(Stage("x", None, 1.0, batch_throughput({1: 0.01, 4: 0.02})), 0.039) == 100.0


CURVES = st.dictionaries(st.integers(1, 40), st.floats(1, 500), min_size=1, max_size=4).map(
    lambda points: {ms / 1000: rate for ms, rate in points.items()}
)
SHAPES = st.sampled_from([(None,), (None, 0), (None, 0, 1), (None, 0, 0), (None, 0, 1, 0), (None, None, 1)])


@given(SHAPES, st.data(), st.integers(1, 120))
def test_the_best_split_is_that_of_brute_force(shape: tuple[int | None, ...], data: st.DataObject, slo_ms: int) -> None:
    alphas = st.sampled_from([0.0, 0.1, 1.0, 10.0])
    stages = [
        Stage(str(place), None if source is None else str(source), data.draw(alphas), data.draw(CURVES))
        for place, source in enumerate(shape)
    ]
    tried = (
        dict(zip(map(str, range(len(shape))), each, strict=True)) for each in product(*(s.throughput for s in stages))
    )
    in_time = [split_as(stages, each) for each in tried if longest_s(stages, each) <= slo_ms / 1000 + 1e-9]
    expected = min((split.workers for split in in_time if split is not None), default=None)
    found = best_split(stages, slo_ms / 1000)
    assert (found and found.workers) == (expected if expected is None else pytest.approx(expected))
    if found is not None:
        assert longest_s(stages, found.budgets_s) <= slo_ms / 1000 + 1e-9
        again = split_as(stages, found.budgets_s)
        assert again is not None
        assert again.workers == pytest.approx(found.workers)


def longest_s(stages: list[Stage], budgets_s: Mapping[str, float]) -> float:
    ends: dict[str | None, float] = {None: 0.0}
    for stage in stages:
        ends[stage.name] = ends[stage.source] + budgets_s[stage.name]
    return max(ends.values())


def test_alpha_follows_what_comes() -> None:
    fan_out = FanOut()
    for _ in range(1000):
        fan_out.observe(1, 4)
    assert fan_out.alpha == pytest.approx(4.0)
    for _ in range(int(HALF_LIFE)):
        fan_out.observe(1, 0)
    assert fan_out.alpha == pytest.approx(2.0, rel=0.01)
