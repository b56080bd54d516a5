"""The programme of Romero et al., 2021, §4.2.1, against Table 3 and brute force."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from serving.autoscale.cheapest import Candidate, Programme

TABLE_2 = [Candidate(0, 0, 5.0), Candidate(0, 1, 100.0), Candidate(0, 2, 800.0)]


@pytest.mark.parametrize(
    ("fast_enough", "items_per_s", "counts"), [(3, 10.0, [2, 0, 0]), (2, 10.0, [1, 0]), (3, 1000.0, [0, 2, 1])]
)
def test_table_3(fast_enough: int, items_per_s: float, counts: list[int]) -> None:
    table = Programme(TABLE_2[-fast_enough:], [items_per_s], [1.0], [1.0, 3.0, 16.0], [200, 20, 10])
    assert table.cheapest(10.0) == counts


PROGRAMMES = st.builds(
    Programme,
    st.lists(
        st.builds(Candidate, st.integers(0, 1), st.integers(0, 1), st.integers(1, 9).map(float)), min_size=1, max_size=4
    ),
    st.tuples(st.integers(0, 20).map(float), st.integers(0, 20).map(float)),
    st.just((1.0, 2.0)),
    st.tuples(st.integers(1, 40).map(lambda each: each / 4), st.integers(1, 40).map(lambda each: each / 4)),
    st.tuples(st.integers(0, 4), st.integers(0, 4)),
)


def judged(table: Programme, counts: tuple[int, ...]) -> tuple[float, float]:
    """What is left by weight, and the price."""
    served = [0.0, 0.0]
    for each, count in zip(table.candidates, counts, strict=True):
        served[each.load] += count * each.items_per_s
    shares = [
        weight * max(asked - mine, 0) / asked
        for weight, asked, mine in zip(table.weights, table.items_per_s, served, strict=True)
        if asked
    ]
    price = sum(table.prices[each.kind] * count for each, count in zip(table.candidates, counts, strict=True))
    return round(sum(shares), 5), price


def has_room(table: Programme, counts: tuple[int, ...]) -> bool:
    taken = [0, 0]
    for each, count in zip(table.candidates, counts, strict=True):
        taken[each.kind] += count
    return all(mine <= room for mine, room in zip(taken, table.room, strict=True))


@settings(max_examples=150, deadline=None)
@given(PROGRAMMES)
def test_nothing_serves_more_or_as_much_for_less(table: Programme) -> None:
    found = tuple(table.cheapest(10.0))
    assert has_room(table, found)
    fitting = [counts for counts in product(range(5), repeat=len(table.candidates)) if has_room(table, counts)]
    left, price = judged(table, found)
    least_left, least_price = min(judged(table, counts) for counts in fitting)
    assert left == pytest.approx(least_left, abs=2e-5)
    assert price <= least_price + 1e-3


def test_where_the_limit_ends_it_something_is_there() -> None:
    table = Programme(TABLE_2, [1000.0], [1.0], [1.0, 3.0, 16.0], [200, 20, 10])
    assert len(table.cheapest(0.0)) == 3


def test_a_load_for_which_nothing_is_fit_leaves_room_for_others() -> None:
    assert Programme([Candidate(1, 0, 5.0)], [3.0, 10.0], [1.0, 1.0], [1.0], [9]).cheapest(10.0) == [2]
    assert Programme([], [3.0], [1.0], [1.0], [9]).cheapest(10.0) == []
