"""The inputs among which is chosen."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.detect.detail.dial import NO_DEARER, AutoDetail, widths
from serving.catalogue.cards import ImageInput

SQUARE = ImageInput(width=416, height=416, resize="letterbox")
FACES = ImageInput(width=640, height=480, resize="letterbox")


@pytest.mark.parametrize(
    ("own", "picture", "wanted"),
    [
        (SQUARE, (1280, 720), [416, 544, 640, 832]),
        (SQUARE, (1920, 1080), [416, 544, 640, 832]),
        (SQUARE, (768, 432), [416, 544, 640, 768]),
        (SQUARE, (720, 1280), [416, 544, 640, 832]),
        (SQUARE, (500, 400), [416, 500]),
        (SQUARE, (320, 180), [320]),
        (FACES, (720, 1280), [480, 640, 736, 960]),
        (SQUARE.model_copy(update={"resize": "stretch"}), (1280, 720), [416]),
    ],
)
def test_there_are_few_and_none_is_wider_than_the_picture(
    own: ImageInput, picture: tuple[int, int], wanted: list[int]
) -> None:
    assert [each.detail for each in widths(own, *picture)] == wanted


@given(st.integers(1, 4096), st.integers(1, 4096), st.sampled_from([SQUARE, FACES]))
def test_each_has_more_pixels_than_the_one_before(width: int, height: int, own: ImageInput) -> None:
    found = widths(own, width, height)
    assert all(one.pixels < other.pixels for one, other in pairwise(found))
    assert all(each.detail <= max(width, height) for each in found[1:])


@given(st.integers(1, 4096), st.integers(1, 4096), st.floats(0.1, 4.0))
def test_on_every_frame_it_costs_no_more_than_it_may_unless_it_is_the_narrowest(
    width: int, height: int, most_cost: float
) -> None:
    found = widths(SQUARE, width, height)
    detail = AutoDetail(most_cost).on_every_frame(SQUARE, width, height)
    (pixels,) = (each.pixels for each in found if each.detail == detail)
    assert pixels <= NO_DEARER * most_cost * 416 * 416 or detail == found[0].detail


def test_a_camera_is_shown_as_much_as_the_square_costs() -> None:
    assert AutoDetail().on_every_frame(SQUARE, 1280, 720) == 544
    assert AutoDetail(2.4).on_every_frame(SQUARE, 1280, 720) == 832
