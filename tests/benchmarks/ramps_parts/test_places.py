"""Where exits are worth having: utilities, giving up, trying, and how near rounds come to the best set."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from benchmarks.ramps_parts.places import BUDGET, EVERY, Places, adjusted, utilities

PLACES = Places(until=[1.0, 2.0, 3.0, 4.0, 5.0], whole=6.0, overhead=[0.1] * 5)


def test_a_utility_is_what_was_saved_less_what_was_added():
    # 30 of 100 leave at 1: saved 6 − 2 − 0.1 each; the other 70 took 0.1 more.
    assert utilities(PLACES, {1: 30, 3: 35}, 100) == pytest.approx({1: 30 * 3.9 - 70 * 0.1, 3: 35 * 1.9 - 35 * 0.1})


def test_exits_that_do_harm_are_given_up_and_the_middle_behind_the_last_good_one_is_tried():
    costly = Places(PLACES.until, PLACES.whole, [0.1, 2.0, 0.1, 0.1, 0.1])
    # Ten might have left at 3, the middle of what is behind 1: those of 1, which is given up.
    found = adjusted(costly, {0: 40, 1: 10}, 100, budget=1.0)
    assert (found.active, found.trial) == ((0, 3), 3)


def test_a_place_without_hope_is_not_tried():
    # Nobody left at the exit that is given up, nor before it: nothing can be expected ahead of it.
    found = adjusted(PLACES, {4: 0}, 100, budget=1.0)
    assert (found.active, found.trial) == ((), None)


def test_what_left_at_earlier_given_up_exits_is_expected_further_on():
    costly = Places(PLACES.until, PLACES.whole, [2.0, 0.1, 0.1, 0.1, 2.0])
    found = adjusted(costly, {0: 20, 4: 1}, 100, budget=1.0)
    assert found.trial == 2
    assert found.active == (2,)


def test_where_all_do_good_one_more_is_tried_before_the_best():
    found = adjusted(PLACES, {2: 60}, 100, budget=1.0)
    assert found.active == (1, 2)
    assert found.trial == 1


def test_without_budget_the_worst_exit_moves_towards_the_input_and_the_best_stays():
    tight = Places(PLACES.until, PLACES.whole, [0.05] * 5)
    found = adjusted(tight, {1: 50, 4: 30}, 100, budget=0.02)
    assert (found.active, found.trial) == ((1, 3), 3)


def test_the_budget_is_kept_whatever_is_tried():
    for left in ({0: 10, 2: 0, 4: 1}, {1: 50, 3: 30}, {2: 60}):
        found = adjusted(PLACES, left, 100, budget=0.05)
        assert PLACES.fits(found.active, max(0.05, 0.1 * len(left) / 6))


def test_no_exits_stay_no_exits():
    assert adjusted(PLACES, {}, 100).active == ()


def test_rounds_come_close_to_the_best_set_of_exits():
    """Later exits answer more, as in the paper; an exhaustive search over sets is the reference."""
    rates = np.array([0.02, 0.15, 0.4, 0.7, 0.85])

    def answered(active: tuple[int, ...]) -> dict[int, int]:
        before, found = 0.0, {}
        for place in active:
            found[place] = round(1000 * max(rates[place] - before, 0.0))
            before = max(before, rates[place])
        return found

    def saved(active: tuple[int, ...]) -> float:
        return sum(utilities(PLACES, answered(active), 1000).values())

    best = max(saved(chosen) for size in range(3) for chosen in combinations(range(5), size))
    active: tuple[int, ...] = (1, 3)  # evenly spaced, as the paper begins
    seen = [saved(active)]
    for _ in range(12):
        active = adjusted(PLACES, answered(active), 1000, budget=0.2 / 6).active
        seen.append(saved(active))
    assert max(seen) >= 0.9 * best


def test_the_constants_are_the_papers():
    assert (EVERY, BUDGET) == (128, 0.02)
