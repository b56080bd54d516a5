"""Which box belongs to which track: the cheapest whole, and no solver where nothing is to be solved."""

import subprocess
import sys
from itertools import permutations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import linear_sum_assignment

from operators.testing import make_region
from operators.track.association import ALONE, assign, distances_and_costs
from operators.track.kalman import begin, corners_of, predict, shapes_of


def shapes(*lefts, w=0.1):
    return shapes_of(corners_of([make_region(x=x, w=w) for x in lefts]))


def tables(tracks, found, elapsed_s=0.001, other=False):
    return distances_and_costs(predict(begin(tracks), elapsed_s), found, np.full((len(tracks), len(found)), other))


def least_cost(costs, allowed):
    """By trying everything."""
    tracks, boxes = costs.shape
    places = [*range(boxes), *[None] * tracks]
    return min(
        sum(costs[i, j] - ALONE for i, j in enumerate(chosen) if j is not None)
        for chosen in set(permutations(places, tracks))
        if all(j is None or allowed[i, j] for i, j in enumerate(chosen))
    )


sides = st.tuples(st.integers(1, 3), st.integers(1, 3))


@settings(deadline=None)
@given(
    sides.flatmap(
        lambda shape: st.tuples(
            arrays(float, shape, elements=st.floats(0, ALONE - 0.01)), arrays(bool, shape, elements=st.booleans())
        )
    )
)
def test_no_other_assignment_costs_less(case):
    costs, allowed = case
    pairs = assign(costs, allowed)
    assert all(allowed[pair] for pair in pairs)
    assert len({i for i, _ in pairs}) == len({j for _, j in pairs}) == len(pairs)
    assert abs(sum(costs[pair] - ALONE for pair in pairs) - least_cost(costs, allowed)) < 1e-9


@settings(deadline=None)
@given(
    st.tuples(st.integers(1, 14), st.integers(1, 14)).flatmap(
        lambda shape: st.tuples(
            arrays(float, shape, elements=st.floats(0, ALONE - 0.01)), arrays(bool, shape, elements=st.booleans())
        )
    )
)
def test_it_costs_what_scipys_solver_finds(case):
    costs, allowed = case
    gains = np.where(allowed, costs - ALONE, 0)
    pairs = assign(costs, allowed)
    assert len({i for i, _ in pairs}) == len({j for _, j in pairs}) == len(pairs)
    assert abs(sum(gains[pair] for pair in pairs) - gains[linear_sum_assignment(gains)].sum()) < 1e-9


def test_the_solver_is_loaded_by_a_conflict_of_many_only():
    script = """
import sys, numpy as np
from operators.track.association import SMALL_CONFLICT, assign
def loaded():
    return any(name.startswith("scipy") for name in sys.modules)
def all_of(tracks, boxes):
    return len(assign(np.zeros((tracks, boxes)), np.ones((tracks, boxes), bool))) == min(tracks, boxes)
assert assign(np.zeros((2, 2)), np.eye(2, dtype=bool)) == [(0, 0), (1, 1)]
assert assign(np.zeros((0, 3)), np.zeros((0, 3), bool)) == []
assert all_of(SMALL_CONFLICT, SMALL_CONFLICT) and all_of(SMALL_CONFLICT, 5)
assert not loaded()
assert all_of(5, SMALL_CONFLICT + 1)
assert loaded()
"""
    subprocess.run([sys.executable, "-c", script], check=True)


def test_what_lies_nearer_costs_less_and_another_label_costs_a_little():
    _, costs = tables(shapes(0.3), shapes(0.3, 0.32, 0.35))
    assert list(np.argsort(costs[0])) == [0, 1, 2]
    _, relabelled = tables(shapes(0.3), shapes(0.3), other=True)
    assert 0 < relabelled[0, 0] - costs[0, 0] < 0.2


def test_a_small_fast_thing_is_in_reach_after_a_long_step_and_not_after_a_short_one():
    start, beside = shapes(0.30, w=0.02), shapes(0.325, w=0.02)
    short, _ = tables(start, beside, elapsed_s=0.04)
    long, _ = tables(start, beside, elapsed_s=0.2)
    assert short[0, 0] > 0.95
    assert long[0, 0] < 0.8


def test_however_long_the_step_the_other_end_of_the_street_is_out_of_reach():
    distance, _ = tables(shapes(0.1, w=0.05), shapes(0.8, w=0.05), elapsed_s=3600.0)
    assert distance[0, 0] == 1.0
