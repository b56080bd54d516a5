"""What boxes tell of an object."""

from __future__ import annotations

import pytest

from operators.frames.frame import Box
from operators.recognise.objects.sight import BoxMotion, cut_off
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


def jumps(*boxes: Box, step_s: float = 0.1) -> list[bool]:
    motion = BoxMotion(boxes[0], 0.0)
    return [motion.jumps(each, step_s * number, 1.0) for number, each in enumerate(boxes[1:], 1)]


def test_steady_motion_is_as_expected_once_its_speed_is_known() -> None:
    assert jumps(*[box(x=0.1 + 0.05 * step) for step in range(8)]) == [False] * 7


def test_a_box_that_jumps_is_odd_and_so_is_one_that_turns_back_at_great_speed() -> None:
    assert jumps(box(), box(x=0.55)) == [True]
    assert jumps(box(x=0.1), box(x=0.25), box(x=0.4), box(x=0.25)) == [False, False, True]


def test_small_boxes_jump_sooner_than_large_ones() -> None:
    assert jumps(box(w=0.1, h=0.1), box(x=0.45, w=0.1, h=0.1)) == [True]
    assert jumps(box(w=0.3, h=0.3), box(x=0.45, w=0.3, h=0.3)) == [False]


def test_frames_of_one_moment_tell_no_speed() -> None:
    assert jumps(box(), box(x=0.4), box(x=0.45), step_s=0.0) == [False, False]
