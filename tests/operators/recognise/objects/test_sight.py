"""What boxes tell of an object."""

from __future__ import annotations

import pytest

from operators.frames.frame import Box
from operators.recognise.objects.sight import Motion, cut_off
from tests.operators.recognise.objects.looks import box


@pytest.mark.parametrize(
    ("found", "cut"),
    [
        (box(), False),
        (Box(0.0, 0.3, 0.2, 0.5), True),
        (Box(0.3, 0.005, 0.5, 0.5), True),
        (Box(0.3, 0.3, 1.0, 0.5), True),
        (Box(0.3, 0.3, 0.5, 0.995), True),
        (Box(0.02, 0.02, 0.98, 0.98), False),
    ],
)
def test_a_box_at_the_border_is_cut_off(found: Box, cut: bool) -> None:
    assert cut_off(found) == cut


def odd(*boxes: Box, step_s: float = 0.1) -> list[bool]:
    motion = Motion(boxes[0], 0.0)
    return [motion.moved(each, step_s * number, 1.4, 0.5) for number, each in enumerate(boxes[1:], 1)]


def test_steady_motion_is_as_expected_once_its_speed_is_known() -> None:
    assert odd(*[box(x=0.1 + 0.05 * step) for step in range(8)]) == [False] * 7


def test_a_box_that_jumps_is_odd_and_so_is_one_that_stops_at_once_from_great_speed() -> None:
    assert odd(box(), box(x=0.45)) == [True]
    assert odd(box(x=0.1), box(x=0.19), box(x=0.28), box(x=0.28), box(x=0.14)) == [False, False, False, True]


@pytest.mark.parametrize(("factor", "is_odd"), [(1.1, False), (1.3, True), (0.9, False), (0.8, True)])
def test_a_size_that_changes_at_once_is_odd(factor: float, is_odd: bool) -> None:
    grown = Box(0.4 - 0.1 * factor, 0.4 - 0.1 * factor, 0.4 + 0.1 * factor, 0.4 + 0.1 * factor)
    assert odd(box(), grown) == [is_odd]


def test_a_size_that_changes_slowly_is_not() -> None:
    assert odd(*[box(w=0.2 * 1.1**step, h=0.2) for step in range(8)]) == [False] * 7


def test_frames_of_one_moment_tell_no_speed() -> None:
    assert odd(box(), box(x=0.35), box(x=0.4), step_s=0.0) == [False, False]
