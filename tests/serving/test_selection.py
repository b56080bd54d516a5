from __future__ import annotations

from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.selection import brute_force, shortfall
from serving.errors import BadInput
from serving.scheduling.health import State
from serving.selection import Requirements, VariantRecord, VariantTable, select

STATES: tuple[State, ...] = get_args(State)
INACTIVE, ACTIVE, OVERLOADED, INTERFERED = STATES


def record(
    name: str,
    latency_ms: float = 10.0,
    load_s: float = 1.0,
    accuracy: float = 0.9,
    cost: float = 1.0,
    state: State = INACTIVE,
    load: float = 0.0,
) -> VariantRecord:
    return VariantRecord(name, latency_ms / 1000, load_s, accuracy, cost, state, load)


def test_an_active_variant_goes_before_a_better_inactive_one() -> None:
    table = VariantTable([record("fast", 1.0, 0.01), record("slow", 19.0, state=ACTIVE, load=0.9)])
    choice = select(Requirements(latency_s=0.020), table)
    assert (choice.variant, choice.meets) == ("slow", True)


def test_of_the_active_ones_the_least_loaded() -> None:
    for load, best in ((0.4, "b"), (0.6, "a")):
        table = VariantTable([record("a", state=ACTIVE, load=0.5), record("b", state=ACTIVE, load=load)])
        assert select(Requirements(), table).variant == best


def test_of_the_inactive_ones_that_which_is_loaded_and_done_soonest() -> None:
    table = VariantTable([record("quick to load", 50.0, 0.2), record("quick", 5.0, 0.3)])
    assert select(Requirements(), table).variant == "quick to load"
    assert select(Requirements(latency_s=0.010), table).variant == "quick"


@pytest.mark.parametrize("state", [OVERLOADED, INTERFERED])
def test_the_busy_are_avoided(state: State) -> None:
    for now, load, best in ((state, 1.0, "b"), (ACTIVE, 0.5, "a")):
        table = VariantTable([record("a", state=now, load=load), record("b", load_s=9.0)])
        assert select(Requirements(), table).variant == best


def test_the_closest_says_what_it_lacks_and_what_the_best_has() -> None:
    table = VariantTable([record("fast", 25.0, accuracy=0.8), record("good", 100.0, accuracy=0.95)])
    choice = select(Requirements(latency_s=0.020, accuracy=0.8), table)
    assert (choice.variant, choice.meets) == ("fast", False)
    assert choice.reason == (
        "no variant meets all requirements; of the closest the latency of 25 ms is 5 ms above 20 ms (best: 25 ms)"
    )
    choice = select(Requirements(accuracy=0.99, cost=0.5), table)
    assert choice.variant == "good"
    assert choice.reason.endswith(
        "accuracy of 0.95 is 0.04 below 0.99 (best: 0.95); cost of 1 is 0.5 above 0.5 (best: 1)"
    )


def test_a_busy_variant_that_would_do_is_named() -> None:
    table = VariantTable([record("poor", accuracy=0.5), record("good", state=OVERLOADED)])
    choice = select(Requirements(accuracy=0.9), table)
    assert (choice.variant, choice.meets) == ("poor", False)
    assert choice.reason.startswith("good would meet all requirements but is overloaded; of the closest the accuracy")


def test_where_all_are_busy_one_of_them_must_do() -> None:
    table = VariantTable([record("poor", accuracy=0.5, state=INTERFERED), record("good", state=OVERLOADED)])
    choice = select(Requirements(accuracy=0.9), table)
    assert (choice.variant, choice.meets) == ("good", True)
    assert "overloaded" in choice.reason


def test_there_must_be_variants() -> None:
    with pytest.raises(BadInput, match="register a model"):
        VariantTable([])


@pytest.mark.parametrize("wrong", [{"latency_s": 0.0}, {"cost": -1.0}, {"accuracy": 97.0}, {"accuracy": float("nan")}])
def test_requirements_must_make_sense(wrong: dict[str, float]) -> None:
    with pytest.raises(BadInput, match="accuracy from 0 to 1"):
        Requirements(**wrong)


# Few values, all exact in binary, so that many are equal and none is equal only but for rounding.
eighths = st.integers(1, 8).map(lambda number: number / 8)
records = st.lists(
    st.builds(VariantRecord, st.just(""), eighths, eighths, eighths, eighths, st.sampled_from(STATES), eighths),
    min_size=1,
    max_size=12,
)
powers = st.sampled_from([0.125, 0.25, 0.5, 1.0])
requirements = st.builds(Requirements, powers, powers | st.just(0.0), powers | st.just(float("inf")))


@given(records, requirements)
def test_it_is_the_choice_of_brute_force(drawn: list[VariantRecord], asked: Requirements) -> None:
    named = [
        VariantRecord(f"v{number}", *(getattr(each, name) for name in VariantRecord.__slots__[1:]))
        for number, each in enumerate(drawn)
    ]
    choice, best = select(asked, VariantTable(named)), brute_force(named, asked)
    assert choice.variant == best.id
    assert choice.meets == (shortfall(asked, best) == 0)
