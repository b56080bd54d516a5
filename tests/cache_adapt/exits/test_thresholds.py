"""Tuning by hill climbing: what it keeps, how near it comes to the best, and the paper's constants."""

from __future__ import annotations

from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.caches_parts.certified import effect, leaves_at
from benchmarks.tuning import simulated as record
from cache_adapt.exits.record import Record, Thresholds
from cache_adapt.exits.thresholds import FIRST_STEP, LEAST_STEP, climb, tuned

AGREEMENT = 0.97


def grid_optimum(known: Record, agreement: float, step: float) -> float:
    """The most that any thresholds on a grid save without breaking the constraint."""
    values = np.arange(0, 1 + step / 2, step)
    found = (effect(known, np.array(each)) for each in product(values, repeat=known.exits))
    return max(each.saved for each in found if each.agreement >= agreement - 1e-12)


@pytest.mark.parametrize("seed", range(20))
def test_the_constraint_holds_on_the_window_that_was_tuned_on(seed):
    known = record(seed, exits=5, inputs=512)
    assert effect(known, tuned(known, AGREEMENT)).agreement >= AGREEMENT


def test_a_fine_grid_search_finds_little_more():
    gaps = []
    for seed in range(8):
        known = record(seed, exits=2, inputs=512)
        best = grid_optimum(known, AGREEMENT, 0.02)
        gaps.append((best - effect(known, tuned(known, AGREEMENT)).saved) / best)
    assert np.mean(gaps) <= 0.035


def test_three_exits_come_as_near_to_a_coarser_grid():
    gaps = []
    for seed in range(4):
        known = record(seed, exits=3, inputs=512)
        best = grid_optimum(known, AGREEMENT, 0.08)
        gaps.append((best - effect(known, tuned(known, AGREEMENT)).saved) / best)
    assert np.mean(gaps) <= 0.035


def test_thresholds_only_rise_on_the_way_and_begin_closed():
    way = climb(record(3, exits=8, inputs=512), AGREEMENT)
    assert (way[0] == 0).all()
    assert all((later >= earlier).all() for earlier, later in pairwise(way))


def can_be_raised(known: Record, thresholds: Thresholds, agreement: float) -> list[int]:
    """The exits whose thresholds the constraint lets rise by the least step, each by itself."""
    found = []
    for exit_ in range(known.exits):
        further = thresholds.copy()
        further[exit_] = min(further[exit_] + LEAST_STEP, 1.0)
        wrong = effect(known, further).wrong
        if thresholds[exit_] < 1 and wrong <= int((1 - agreement) * known.inputs + 1e-9):
            found.append(exit_)
    return found


@pytest.mark.parametrize("exits", [2, 4, 8])
@pytest.mark.parametrize("seed", range(30))
def test_the_climb_ends_where_no_threshold_can_be_raised_by_the_least_step(seed, exits):
    known = record(seed, exits, inputs=200)
    assert can_be_raised(known, tuned(known, AGREEMENT), AGREEMENT) == []


@given(st.data(), st.integers(1, 3), st.integers(1, 20), st.sampled_from([0.8, 0.9, 1.0]))
def test_no_state_can_be_reached_from_the_end_of_a_climb(data, exits, inputs, agreement):
    def drawn(values):
        row = st.lists(values, min_size=inputs, max_size=inputs)
        return data.draw(st.lists(row, min_size=exits, max_size=exits))

    shares = st.integers(0, 20).map(lambda share: share / 20)
    known = Record.of(np.array(drawn(shares)), np.array(drawn(st.booleans())), [*range(1, exits + 1), exits + 2])
    assert can_be_raised(known, tuned(known, agreement), agreement) == []


def test_a_rise_that_was_refused_is_made_once_another_has_made_it_possible():
    """The second exit is wrong about the first input, until that leaves at the first; others go first for long."""
    errors = np.ones((3, 6))
    errors[0, 0], errors[1, :2], errors[2, 2:] = 0.95, 0.005, [0.05, 0.2, 0.5, 0.9]
    right = np.ones((3, 6), bool)
    right[1, 0] = False
    known = Record.of(errors, right, [1.0, 2.0, 3.0, 4.0])
    assert leaves_at(known, tuned(known, 1.0)).tolist() == [0, 1, 2, 2, 2, 2]


def test_what_the_climb_says_of_itself_is_what_the_record_says():
    known = record(5, exits=6, inputs=300)
    for thresholds in climb(known, 0.95):
        place = leaves_at(known, thresholds)
        for row in range(0, 300, 37):
            firsts = [exit_ for exit_ in range(6) if known.errors[exit_, row] < thresholds[exit_]]
            assert place[row] == (firsts[0] if firsts else 6)


def test_exits_that_are_always_wrong_stay_closed_where_no_error_is_allowed():
    known = Record.of(np.full((2, 50), 0.3), np.zeros((2, 50), bool), [1.0, 2.0, 3.0])
    assert (tuned(known, 1.0) == 0).sum() == 0 or (leaves_at(known, tuned(known, 1.0)) == 2).all()


def test_exits_that_are_always_right_answer_everything_at_the_first():
    known = Record.of(np.full((3, 50), 0.42), np.ones((3, 50), bool), [1.0, 2.0, 3.0, 4.0])
    assert (leaves_at(known, tuned(known, 1.0)) == 0).all()


def test_no_inputs_allow_everything_and_say_nothing():
    known = Record.of(np.zeros((2, 0)), np.zeros((2, 0), bool), [1.0, 2.0, 3.0])
    found = effect(known, tuned(known, 1.0))
    assert (found.agreement, found.saved, found.wrong) == (1.0, 0.0, 0)


def test_shapes_that_do_not_belong_together_are_refused():
    with pytest.raises(ValueError, match="do not belong together"):
        Record.of(np.zeros((2, 3)), np.zeros((2, 4), bool), [1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match="one latency more"):
        Record.of(np.zeros((2, 3)), np.zeros((2, 3), bool), [1.0, 2.0])


def test_the_constants_are_the_papers():
    assert (FIRST_STEP, LEAST_STEP) == (0.1, 0.01)
