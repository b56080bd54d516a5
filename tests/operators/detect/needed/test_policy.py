"""When the detector runs."""

from __future__ import annotations

import numpy as np
import pytest

from operators.detect.needed.policy import (
    FIRST_REST_S,
    LONGEST_MOVING_S,
    LONGEST_STILL_S,
    SPREAD,
    UNSTEADY_S,
    FrameChanges,
    Reason,
    When,
)
from operators.frames.changes import COLUMNS, ROWS, Cells

NOTHING = np.zeros((ROWS, COLUMNS), bool)


def cells(*places: tuple[int, int]) -> Cells:
    found = NOTHING.copy()
    for row, column in places:
        found[row, column] = True
    return found


INSIDE = FrameChanges(cells((3, 3)), NOTHING)
OUTSIDE = FrameChanges(cells((3, 3)), cells((3, 3)))
STILL = FrameChanges(NOTHING, NOTHING)
ALL = FrameChanges(~NOTHING, ~NOTHING)


def frame(when: When, now_s: float, seen: FrameChanges, every: int = 4, covered: Cells = NOTHING) -> Reason | None:
    """One frame, as the operator takes it."""
    why = when.due(now_s, every)
    news = None
    if why is None:
        news, why = seen.news, when.decide(seen, every)
    if why is None:
        when.skipped()
    else:
        when.detected(covered, news)
    return why


def test_the_first_frame_is_detected_and_a_still_picture_seldom() -> None:
    when = When()
    reasons = [frame(when, number / 10, STILL) for number in range(45)]
    assert reasons[0] == "first"
    assert [number for number, why in enumerate(reasons) if why == "still"] == [20, 40]
    assert LONGEST_STILL_S == 2.0
    assert reasons.count(None) == 42


@pytest.mark.parametrize("every", [2, 3, 4])
def test_movement_inside_the_boxes_is_detected_on_every_nth_frame(every: int) -> None:
    when = When()
    reasons = [frame(when, number / 25, INSIDE, every) for number in range(13)]
    assert [number for number, why in enumerate(reasons) if why] == list(range(0, 13, every))


@pytest.mark.parametrize(("every", "detected"), [(2, 2), (3, 2), (6, 4)])
def test_flow_carries_boxes_no_longer_than_so_many_seconds(every: int, detected: int) -> None:
    when = When()
    reasons = [frame(when, number / 5, INSIDE, every) for number in range(9)]
    assert [number for number, why in enumerate(reasons) if why] == list(range(0, 9, detected))
    assert LONGEST_MOVING_S == 0.4


def test_movement_outside_is_detected_at_once_and_ever_more_seldom_where_nothing_is_found() -> None:
    when = When()
    asked = [number / 25 for number in range(2000) if frame(when, number / 25, OUTSIDE, every=10) in ("motion", "pace")]
    assert asked[0] == 1 / 25
    pauses = np.diff(asked)
    assert pauses[0] == pytest.approx(FIRST_REST_S, abs=0.05)
    assert pauses[1] == pytest.approx(2 * FIRST_REST_S, abs=0.05)
    assert len(asked) <= 12, "the rests grow"


@pytest.mark.parametrize("every", [2, 3, 4])
def test_nameless_movement_that_spreads_is_asked_about_at_the_pace(every: int) -> None:
    when = When()
    frame(when, 0.0, STILL)
    coming = [FrameChanges(cells((0, number // 2)), cells((0, number // 2))) for number in range(20)]
    reasons = [frame(when, 0.04 + number / 25, seen, every) for number, seen in enumerate(coming)]
    assert [number for number, why in enumerate(reasons) if why] == list(range(0, 20, every))


def test_movement_elsewhere_is_detected_at_once_whatever_spreads() -> None:
    when = When()
    frame(when, 0.0, STILL)
    assert frame(when, 0.04, OUTSIDE) == "motion"
    spread, elsewhere = cells((3, 3 + SPREAD)), cells((3, 3 + SPREAD + 1))
    assert frame(when, 0.08, FrameChanges(spread, spread)) is None
    assert frame(when, 0.12, FrameChanges(elsewhere, elsewhere)) == "motion"


def test_a_cell_in_which_an_object_was_found_is_asked_about_at_once_again() -> None:
    when = When()
    frame(when, 0.0, STILL)
    assert frame(when, 0.04, OUTSIDE, every=1000) == "motion"
    assert frame(when, 0.08, OUTSIDE, every=1000) is None, "the cell rests"
    when.detected(cells((3, 3)), cells((3, 3)))
    assert frame(when, 0.52, OUTSIDE, every=1000, covered=cells((3, 3))) is not None


def test_after_a_cut_every_frame_is_detected_for_a_while() -> None:
    when = When()
    frame(when, 0.0, STILL)
    assert frame(when, 0.04, ALL) == "unsteady"
    assert frame(when, 0.08, STILL) == "unsteady"
    assert frame(when, 0.04 + UNSTEADY_S + 0.01, STILL) is None


def test_nothing_is_skipped_at_the_pace_of_one() -> None:
    when = When()
    assert [frame(when, number / 10, STILL, every=1) for number in range(3)] == ["first", "pace", "pace"]


def test_looking_ahead_goes_on_after_windows_in_which_no_frame_was_skipped() -> None:
    when = When()
    for number in range(4):
        assert when.due(number / 5, 3) == (None if number else "first")
        when.looked_ahead((number + 1) / 5)
        when.detected(NOTHING)
