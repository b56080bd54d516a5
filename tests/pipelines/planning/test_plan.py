"""What nodes get before a frame begins."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.planning.options import COUNTED, Option, Table
from pipelines.planning.plan import Choice, Load, fill, first_plan

SHORT = st.floats(0.001, 0.2)
TABLES = st.lists(st.lists(SHORT, min_size=1, max_size=4), min_size=1, max_size=3)


def one_by_one(tables: dict[str, Table], slo_s: float) -> dict[str, Choice]:
    return first_plan([{name: table} for name, table in tables.items()], slo_s)


def drawn(times: list[list[float]]) -> dict[str, Table]:
    """Nodes whose better variants take longer."""
    nodes = {f"node{place}": sorted(each, reverse=True) for place, each in enumerate(times)}
    return {
        name: Table(tuple(Option.fixed(f"v{rank}", None, s) for rank, s in enumerate(nodes[name]))) for name in nodes
    }


def test_nodes_share_the_time_by_what_their_longest_take_and_none_gets_too_little_for_its_fastest() -> None:
    tables = drawn([[0.060, 0.030], [0.180, 0.010]])
    found = one_by_one(tables, 0.2)
    assert [(each.variant, each.fits) for each in found.values()] == [("v1", True), ("v1", True)]
    assert [each.budget_s for each in found.values()] == pytest.approx([0.05, 0.15])
    assert [each.budget_s for each in one_by_one(tables, 0.08).values()] == pytest.approx([0.03, 0.05])
    assert one_by_one({}, 0.1) == {}


def test_nodes_that_run_at_the_same_time_share_no_time() -> None:
    tables = drawn([[0.060], [0.120], [0.180]])
    groups = [{"node0": tables["node0"]}, {"node1": tables["node1"], "node2": tables["node2"]}]
    found = first_plan(groups, 0.24)
    assert {node: each.budget_s for node, each in found.items()} == pytest.approx(
        {"node0": 0.06, "node1": 0.18, "node2": 0.18}
    )


@given(TABLES, st.floats(0.001, 0.8))
def test_the_nodes_fit_into_the_time_wherever_their_fastest_do(times: list[list[float]], slo_s: float) -> None:
    found = list(one_by_one(drawn(times), slo_s).values())
    if sum(map(min, times)) <= slo_s:
        assert all(each.fits for each in found)
        assert sum(each.takes_s for each in found) <= slo_s + 1e-6
    elif sum(map(min, times)) > slo_s + 1e-6:
        assert not all(each.fits for each in found)


@given(TABLES, st.floats(0.001, 0.8), st.floats(0.0, 0.4))
def test_more_time_never_buys_less(times: list[list[float]], slo_s: float, more_s: float) -> None:
    tables = drawn(times)
    before, after = one_by_one(tables, slo_s), one_by_one(tables, slo_s + more_s)
    assert all(after[node].variant <= before[node].variant for node in tables)  # v0 is the best


@given(TABLES, st.floats(0.001, 0.8))
def test_it_is_the_best_of_all_plans_within_the_budgets(times: list[list[float]], slo_s: float) -> None:
    tables = drawn(times)
    found = one_by_one(tables, slo_s)
    if not all(each.fits for each in found.values()):
        return
    every = product(*(enumerate(table.options) for table in tables.values()))
    kept = [
        [rank for rank, _ in chosen]
        for chosen in every
        if all(each.takes_s(1) <= found[node].budget_s + 1e-9 for node, (_, each) in zip(tables, chosen, strict=True))
    ]
    assert [each.variant for each in found.values()] == [f"v{rank}" for rank in min(kept, key=sum)]


@given(st.floats(0.001, 1), st.floats(0, 1), st.floats(0.25, 16))
def test_what_takes_all_of_a_budget_fits_it(measured_s: float, extra_s: float, slowdown: float) -> None:
    load = Load({}, {"node": slowdown}, {"node": extra_s})
    table = Table((Option.fixed("only", None, measured_s),))
    assert table.options[0].most(load.measured_s("node", load.times("node", table).least_s)) >= 1


def test_a_node_with_nothing_to_look_at_takes_no_time() -> None:
    assert Load({"node": 0}, {}, {"node": 1.0}).times("node", drawn([[0.1]])["node0"]) == (0.0, 0.0)


@given(
    st.lists(st.tuples(st.one_of(st.just(0.0), st.floats(0.01, 10)), st.floats(0, 10)), min_size=1, max_size=6),
    st.floats(0, 60),
    st.floats(0, 9),
)
def test_shares_are_all_of_the_time_and_rise_with_it(
    pairs: list[tuple[float, float]], total: float, more: float
) -> None:
    weights, least = [weight for weight, _ in pairs], [each for _, each in pairs]
    found = fill(weights, least, total)
    assert sum(found) == pytest.approx(total, abs=1e-6)
    if total >= sum(least):
        assert all(share >= each - 1e-9 for share, each in zip(found, least, strict=True))
    assert all(later >= share - 1e-6 for share, later in zip(found, fill(weights, least, total + more), strict=True))


@given(st.lists(SHORT, min_size=1, max_size=70), st.floats(0, 3))
def test_the_most_objects_that_fit_are_the_most_that_fit(tails: list[float], budget_s: float) -> None:
    option = Option.of("v", None, lambda n: tails[min(n, len(tails)) - 1])
    most = option.most(budget_s)
    assert all(option.takes_s(n) <= budget_s + 1e-9 for n in {1, most // 2, most} if 0 < n <= most)
    assert option.takes_s(most + 1) > budget_s - 1e-9
    assert option.takes_s(0) == 0.0
    assert option.takes_s(2 * COUNTED) == pytest.approx(2 * option.takes_s(COUNTED))
