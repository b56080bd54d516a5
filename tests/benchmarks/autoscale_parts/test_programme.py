"""The programme of §4.2.1 against Table 3 and brute force; the heuristic of §4.2.2 against the programme."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.autoscale_parts.exact import solve
from benchmarks.autoscale_parts.greedy import heuristic
from benchmarks.autoscale_parts.programme import Candidate, Programme, Solution, programme
from serving.autoscale.machines import AutoscaleTerms
from tests.benchmarks.autoscale_parts.fleets import brute_force, state

COUNTS = {"cpu": 200, "inferentia": 20, "gpu": 10}
STABLE = AutoscaleTerms(horizon_s=1e9)


def by_variant(found: Solution) -> dict[str, int]:
    return {key[1]: count for key, count in found.counts.items() if count}


@pytest.mark.parametrize("how", [lambda each: solve(each, 10.0), heuristic], ids=["programme", "greedy"])
@pytest.mark.parametrize(
    ("qps", "slo_ms", "chosen", "cost"),
    [(10, 300, {"A": 2}, 2), (10, 50, {"B": 1}, 3), (1000, 300, {"B": 2, "C": 1}, 22)],
)
def test_table_3(
    how: Callable[[Programme], Solution], qps: int, slo_ms: int, chosen: dict[str, int], cost: int
) -> None:
    table = programme(state(qps, slo_ms / 1000), {"app": qps}, COUNTS, STABLE)
    found = how(table)
    assert by_variant(found) == chosen
    assert table.objective(found.counts) == pytest.approx(cost)
    assert not found.short


def test_the_ratios_beside_table_3() -> None:
    """8 and 5.3 times cheaper than C; two C against two B and a C; 200 A cost 9 times as much."""
    table = programme(state(1000), {"app": 1000.0}, COUNTS, STABLE)
    (a, b, c) = (each.key for each in table.candidates)
    assert table.objective({c: 1}) / table.objective({a: 2}) == pytest.approx(8)
    assert table.objective({c: 1}) / table.objective({b: 1}) == pytest.approx(5.33, abs=0.01)
    assert table.objective({a: 200}) / table.objective({b: 2, c: 1}) == pytest.approx(9.09, abs=0.01)
    # Ten B cost 30: they are the next cheapest, not two C.
    assert table.objective({b: 10}) / table.objective({b: 2, c: 1}) == pytest.approx(1.36, abs=0.01)


PROGRAMMES = st.builds(
    lambda rows, asked, pools, loading: Programme(
        [
            Candidate(
                (f"app{app}", f"v{n}", kind), float(rate), cost / 4, float(load), {(kind, "room"): float(need)}, runs
            )
            for n, (app, kind, rate, cost, load, need, runs) in enumerate(rows)
        ],
        {"app0": float(asked[0]), "app1": float(asked[1])},
        {"app0": 1.0, "app1": 2.0},
        {("cpu", "room"): float(pools[0]), ("gpu", "room"): float(pools[1])},
        loading / 10,
    ),
    st.lists(
        st.tuples(
            st.integers(0, 1),
            st.sampled_from(["cpu", "gpu"]),
            st.integers(0, 9),
            st.integers(1, 40),
            st.integers(0, 20),
            st.integers(1, 4),
            st.integers(0, 1),
        ),
        min_size=1,
        max_size=5,
    ),
    st.tuples(st.integers(0, 20), st.integers(0, 20)),
    st.tuples(st.integers(0, 9), st.integers(0, 9)),
    st.integers(0, 10),
).filter(
    lambda each: all(
        sum(
            candidate.running * sum(candidate.needs.values())
            for candidate in each.candidates
            if pool in candidate.needs
        )
        <= size
        for pool, size in each.pools.items()
    )
)


@settings(max_examples=150, deadline=None)
@given(PROGRAMMES)
def test_the_programme_is_brute_force_and_the_heuristic_never_beyond_it(table: Programme) -> None:
    found, known = solve(table, 10.0), heuristic(table)
    short, cost = brute_force(table, 9 if len(table.candidates) <= 3 else 4)
    assert found.by == "programme"
    assert table.unserved(found.counts) <= short + 1e-5
    if table.unserved(found.counts) >= short - 1e-5:
        assert table.objective(found.counts) <= cost + 1e-4 * max(abs(cost), 1)
    mine = (round(table.unserved(known.counts), 5), table.objective(known.counts))
    assert mine[0] >= table.unserved(found.counts) - 2e-5
    for solution in (found, known):
        taken = Counter[tuple[str, str]]()
        for each in table.candidates:
            count = solution.counts[each.key]
            assert count >= 0
            assert count <= each.running or each.items_per_s
            for pool, need in each.needs.items():
                taken[pool] += need * count  # type: ignore[assignment]
        assert all(taken[pool] <= size + 1e-6 for pool, size in table.pools.items())
        assert solution.short == table.short(solution.counts)


def test_where_the_limit_ends_it_something_is_there() -> None:
    table = programme(state(1000), {"app": 1000.0}, COUNTS, STABLE)
    found = solve(table, 0.0)
    assert found.by in ("incumbent", "greedy", "programme")
    assert not found.short


def test_spiky_loads_make_long_loading_dear() -> None:
    """λ of §4.2.1: where instances are needed for a second only, loading counts, and what loads faster is taken."""
    stable = programme(state(90), {"app": 90.0}, COUNTS, STABLE)
    spiky = programme(state(90), {"app": 90.0}, COUNTS, replace(STABLE, horizon_s=0.001))
    assert by_variant(solve(stable, 10.0)) == {"B": 1}
    b, a = spiky.price(spiky.candidates[1], 1), 18 * spiky.price(spiky.candidates[0], 1)
    assert by_variant(solve(spiky, 10.0)) == ({"B": 1} if b < a else {"A": 18})


def test_of_what_serves_as_much_the_cheapest_is_taken() -> None:
    """Either application can be served, and as much is left both ways; one costs half."""
    candidates = [
        Candidate(("app0", "v0", "cpu"), 1.0, 0.25, 0.0, {("cpu", "room"): 2.0}, 0),
        Candidate(("app1", "v1", "cpu"), 2.0, 0.25, 0.0, {("cpu", "room"): 1.0}, 0),
    ]
    given = Programme(candidates, {"app0": 1.0, "app1": 8.0}, {"app0": 1.0, "app1": 2.0}, {("cpu", "room"): 2.0}, 0.0)
    found = solve(given, 10.0)
    assert found.counts == {("app0", "v0", "cpu"): 1, ("app1", "v1", "cpu"): 0}
