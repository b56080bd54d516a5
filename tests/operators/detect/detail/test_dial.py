"""The width follows what may be spent: within the bound, at once where a deadline is missed, and without flapping."""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Sequence
from itertools import pairwise, repeat

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from operators.detect.detail.dial import (
    AGAIN_CREDIT,
    FIRST_REST,
    LEAST_FRAMES,
    LONGEST_REST,
    NO_DEARER,
    DetailDial,
    DetectorUse,
    Price,
)

SQUARES = (0.62, 1.006, 1.42, 2.31)
READY = [Price(each, True) for each in SQUARES]


def play(
    dial: DetailDial, ran: Iterable[bool], besides: float = 0.05, prices: Sequence[Price] = READY
) -> list[tuple[int, float]]:
    """By frame the width and what was spent on it, squares."""
    found = []
    for each in ran:
        found.append((dial.at, each * prices[dial.at].squares + besides))
        dial.spent(DetectorUse(1, int(each), besides), prices)
    return found


def every(share: float, frames: int, seed: int = 0) -> list[bool]:
    chance = random.Random(seed)
    return [chance.random() < share for _ in range(frames)]


def evenly(share: float, frames: int) -> list[bool]:
    return [math.floor(share * (n + 1)) > math.floor(share * n) for n in range(frames)]


def changes(found: Sequence[tuple[int, float]]) -> int:
    return sum(one[0] != other[0] for one, other in pairwise(found))


@pytest.mark.parametrize(
    ("share", "most_cost", "at"),
    [(0.1, 1.0, 3), (0.3, 1.0, 3), (0.45, 1.0, 2), (0.7, 1.0, 1), (0.9, 1.0, 0), (0.1, 0.2, 1), (1.0, 3.0, 3)],
)
def test_it_is_as_wide_as_skipped_frames_pay_for(share: float, most_cost: float, at: int) -> None:
    dial = DetailDial(READY, most_cost)
    found = play(dial, evenly(share, 3000))
    assert found[-1][0] == at
    assert sum(cost for _, cost in found) <= most_cost * len(found)


def test_where_every_frame_is_run_and_nothing_is_looked_at_it_costs_as_much_as_the_square() -> None:
    dial = DetailDial(READY)
    found = play(dial, repeat(True, 5000), besides=0.0)
    assert (found[-1][0], changes(found)) == (1, 1)


def test_a_wider_one_is_taken_once_enough_was_seen_and_saved() -> None:
    found = play(DetailDial(READY), repeat(False, 2 * LEAST_FRAMES))
    assert [at for at, _ in found].index(3) == LEAST_FRAMES, "and by then the credit is full"


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.floats(0, 1), st.integers(1, 400)), min_size=1, max_size=12),
    st.floats(0.7, 3.0),
    st.integers(0, 9),
)
def test_all_frames_together_cost_no_more_than_they_may(
    spells: list[tuple[float, int]], most_cost: float, seed: int
) -> None:
    ran = [each for n, (share, frames) in enumerate(spells) for each in every(share, frames, seed + n)]
    found = play(DetailDial(READY, most_cost), ran)
    left = sum(other[0] < one[0] for one, other in pairwise(found))
    assert sum(cost for _, cost in found) <= NO_DEARER * most_cost * len(found) + (left + 1) * (
        AGAIN_CREDIT + SQUARES[-1] + 0.05
    )


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.floats(0, 1), st.integers(1, 2000), st.floats(0, 1.5)), min_size=1, max_size=12))
def test_it_is_seldom_left_whatever_happens(spells: list[tuple[float, int, float]]) -> None:
    dial, at, frames, left = DetailDial(READY), 0, 0, 0
    for share, count, late in spells:
        for ran in every(share, count, frames):
            dial.spent(DetectorUse(1, int(ran), 0.05), READY)
            if ran:
                dial.ended(late)
            left, at, frames = left + (dial.at < at), dial.at, frames + 1
    if frames < LONGEST_REST:
        assert left <= (len(SQUARES) - 1) * (math.log2(frames / FIRST_REST + 1) + 1)


@pytest.mark.parametrize("share", [0.33, 0.36, 0.4, 0.5, 0.6, 0.75, 0.85])
@pytest.mark.parametrize("seed", range(5))
def test_chance_does_not_make_it_flap(share: float, seed: int) -> None:
    found = play(DetailDial(READY), every(share, 20_000, seed))
    assert changes(found) <= 6, "to the width that fits, and a step there and back at most"


def test_it_goes_down_at_once_where_a_detection_was_too_late_and_waits_ever_longer() -> None:
    dial = DetailDial(READY)
    waited = []
    for _ in range(3):
        play(dial, repeat(False, LEAST_FRAMES + (waited[-1] if waited else 0)))
        assert dial.at == 3
        dial.ended(1.1)
        assert (dial.at, dial.left_for) == (2, "time"), "one of 1.42 squares takes .68 of the time"
        waited.append(dial.rest)
        for _ in range(32):
            dial.ended(0.1)
    assert waited == [FIRST_REST, 2 * FIRST_REST, 4 * FIRST_REST]


def test_a_wider_one_that_would_be_too_late_is_not_taken() -> None:
    dial = DetailDial(READY)
    dial.ended(0.3)
    play(dial, repeat(False, 200))
    assert (dial.at, dial.too_wide(3)) == (2, "time"), "2.31 squares would take 1.12 of the time, 1.42 take 0.69"


def test_frames_whose_time_was_over_before_they_came_leave_the_narrowest() -> None:
    dial = DetailDial(READY)
    play(dial, repeat(False, 60))
    dial.ended(math.inf)
    assert dial.at == 0
    play(dial, repeat(False, 5 * FIRST_REST))
    assert dial.at == 0, "until later detections are in time"


def test_the_width_that_is_not_loaded_yet_is_wanted_and_taken_once_it_is() -> None:
    waiting = [Price(each, place == 0) for place, each in enumerate(SQUARES)]
    dial = DetailDial(waiting)
    play(dial, repeat(False, 100), prices=waiting)
    assert (dial.at, dial.wanted) == (0, 3)
    play(dial, repeat(False, 1))
    assert dial.at == 3


def test_what_turns_out_to_cost_too_much_is_left_for_what_does_not() -> None:
    dial = DetailDial(READY)
    play(dial, every(0.3, 500))
    assert dial.at == 3
    play(dial, every(0.6, 1000))
    assert (dial.at, dial.left_for) == (2, "cost")
    assert dial.expected(2) < 1 < dial.expected(3)
