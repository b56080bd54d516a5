"""The paper's plans of frames against the examples of GATI, brute force, and what must hold for any of them."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.replanning import GRAPH, TABLE_5, terms
from benchmarks.replanning_parts.plan import FramePlan, Split, Terms, budgets, paths, plan, replan
from pipelines.planning.options import Option, Table


def chosen(frame: FramePlan) -> dict[str, str]:
    return {node: choice.variant for node, choice in frame.choices.items()}


def test_the_example_at_80_ms_plans_the_networks_of_the_paper() -> None:
    frame = plan(terms("equal"), 0.080)
    assert {node: choice.budget_s for node, choice in frame.choices.items()} == dict.fromkeys(GRAPH, 0.040)
    assert chosen(frame) == {"objects": "ResNet-18", "faces": "SE-LResNet18E-IR", "vehicles": "ResNet-18"}


def test_time_that_detection_saves_buys_the_better_recognisers_of_the_paper() -> None:
    frame = plan(terms("equal"), 0.080)
    assert chosen(replan(frame, {"objects": 0.020})) == {
        "objects": "ResNet-18",
        "faces": "SE-LResNet50E-IR",
        "vehicles": "ResNet-50",
    }
    after_27_ms = replan(frame, {"objects": 0.02736})
    assert after_27_ms.choices["faces"].budget_s == pytest.approx(0.05264)
    assert chosen(after_27_ms) == chosen(frame)


def test_time_that_detection_loses_costs_the_recognisers() -> None:
    frame = replan(plan(terms("equal"), 0.080), {"objects": 0.050})
    assert chosen(frame) == {"objects": "ResNet-18", "faces": "SE-LResNet9E-IR", "vehicles": "ResNet-18"}
    late = replan(plan(terms("equal"), 0.080), {"objects": 0.070}).choices["faces"]
    assert (late.variant, late.fits) == ("SE-LResNet9E-IR", False)


def best_within(node: str, budget_ms: float) -> str:
    """The most accurate network of Table 5 within a budget, else the fastest."""
    fits = [row for row in TABLE_5[node] if row[1] <= budget_ms + 1e-6]
    return max(fits, key=lambda row: row[2])[0] if fits else min(TABLE_5[node], key=lambda row: row[1])[0]


@pytest.mark.parametrize("slo_ms", range(60, 251, 10))
def test_table_5_by_the_equal_split(slo_ms: int) -> None:
    frame = plan(terms("equal"), slo_ms / 1000)
    assert chosen(frame) == {node: best_within(node, slo_ms / 2) for node in GRAPH}


@pytest.mark.parametrize("slo_ms", range(60, 251, 10))
def test_table_5_by_the_proportional_split(slo_ms: int) -> None:
    """Equation 4: the longest are 54.5, 110.32 and 111.42 ms; detection gets the less of its two paths."""
    faces, vehicles = slo_ms * 110.32 / (54.5 + 110.32), slo_ms * 111.42 / (54.5 + 111.42)
    objects = min(slo_ms - faces, slo_ms - vehicles)
    if objects < 27.36:  # its fastest network would not fit: the others share what is left
        objects, faces, vehicles = 27.36, slo_ms - 27.36, slo_ms - 27.36
    budgets_ms = {"objects": objects, "faces": faces, "vehicles": vehicles}
    frame = plan(terms("proportional"), slo_ms / 1000)
    assert {node: 1000 * choice.budget_s for node, choice in frame.choices.items()} == pytest.approx(budgets_ms)
    assert chosen(frame) == {node: best_within(node, budgets_ms[node]) for node in GRAPH}


def test_a_node_gets_the_least_that_any_of_its_paths_gives() -> None:
    graph = {"a": ("b", "d"), "b": ("c",), "c": ("d",), "d": ()}
    tables = dict.fromkeys(graph, Table((Option.fixed("slow", None, 1.0), Option.fixed("fast", None, 0.0))))
    assert sorted(paths(graph)) == [("a", "b", "c", "d"), ("a", "d")]
    frame = plan(Terms(tuple(paths(graph)), tables, "equal"), 12.0)
    assert {node: choice.budget_s for node, choice in frame.choices.items()} == dict.fromkeys(graph, 3.0)


SHORT = st.floats(0.001, 0.2)
TABLES = st.lists(st.lists(SHORT, min_size=1, max_size=4), min_size=3, max_size=3)
SPLITS = st.sampled_from(["equal", "proportional"])
DAGS = st.sampled_from(
    [
        {"a": ("b",), "b": ("c",), "c": ()},
        {"a": ("b", "c"), "b": (), "c": ()},
        {"a": ("c",), "b": ("c",), "c": ()},
        {"a": ("b", "c"), "b": ("c",), "c": ()},
    ]
)


def drawn_terms(graph: dict[str, tuple[str, ...]], times: list[list[float]], split: Split) -> Terms:
    tables = {
        node: Table(tuple(Option.fixed(f"{node}{rank}", 1 - rank / 10, s) for rank, s in enumerate(sorted(each)[::-1])))
        for node, each in zip(graph, times, strict=True)
    }
    return Terms(tuple(paths(graph)), tables, split)


def longest_path_s(drawn: Terms, took_s: dict[str, float]) -> float:
    return max(sum(took_s[node] for node in path) for path in drawn.ways)


@given(DAGS, TABLES, SPLITS, st.floats(0.001, 0.8))
def test_no_plan_takes_longer_than_the_slo_where_one_does_not(
    graph: dict[str, tuple[str, ...]], times: list[list[float]], split: Split, slo_s: float
) -> None:
    drawn = drawn_terms(graph, times, split)
    frame = plan(drawn, slo_s)
    fastest_s = longest_path_s(drawn, {node: table.options[-1].takes_s(1) for node, table in drawn.tables.items()})
    planned_s = longest_path_s(drawn, {node: choice.takes_s for node, choice in frame.choices.items()})
    if fastest_s <= slo_s:
        assert planned_s <= slo_s + 1e-6
        assert frame.fits
    else:
        assert not frame.fits


@given(DAGS, TABLES, SPLITS, st.floats(0.001, 0.8), st.floats(0.0, 0.4))
def test_more_time_never_buys_less(
    graph: dict[str, tuple[str, ...]], times: list[list[float]], split: Split, slo_s: float, more_s: float
) -> None:
    drawn = drawn_terms(graph, times, split)
    one, other = plan(drawn, slo_s), plan(drawn, slo_s + more_s)
    for node, table in drawn.tables.items():
        rank = {option.variant: place for place, option in enumerate(table.options)}
        assert rank[other.choices[node].variant] <= rank[one.choices[node].variant]


@given(DAGS, TABLES, SPLITS, st.floats(0.001, 0.8))
def test_it_is_the_best_of_all_plans_within_the_budgets(
    graph: dict[str, tuple[str, ...]], times: list[list[float]], split: Split, slo_s: float
) -> None:
    drawn = drawn_terms(graph, times, split)
    frame = plan(drawn, slo_s)
    if not frame.fits:
        return
    within = budgets(drawn, slo_s, 0.0, {})
    every = product(*(table.options for table in drawn.tables.values()))
    kept = [
        combination
        for combination in every
        if all(each.takes_s(1) <= within[node] + 1e-9 for node, each in zip(drawn.tables, combination, strict=True))
    ]
    best = max(kept, key=lambda combination: sum(each.accuracy or 0 for each in combination))
    assert chosen(frame) == {node: each.variant for node, each in zip(drawn.tables, best, strict=True)}


@given(TABLES, SPLITS, st.floats(0.01, 0.8), st.lists(st.floats(0.0, 1.5), min_size=3, max_size=3))
def test_a_frame_whose_nodes_keep_to_their_plan_ends_in_time(
    times: list[list[float]], split: Split, slo_s: float, factors: list[float]
) -> None:
    """Each node takes any share of what was planned, up to all of it; what is saved is spent, never more."""
    drawn = drawn_terms({"a": ("b",), "b": ("c",), "c": ()}, times, split)
    frame, now_s = plan(drawn, slo_s), 0.0
    if not frame.fits:
        return
    for node, factor in zip(drawn.tables, factors, strict=True):
        now_s += min(factor, 1.0) * frame.choices[node].takes_s
        frame = replan(frame, {node: now_s})
    assert now_s <= slo_s + 1e-6
    assert frame.fits
