from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.frames.crops import cut, widened
from operators.frames.frame import Box

IMAGE = np.arange(100 * 200 * 3, dtype=np.uint32).astype(np.uint8).reshape(100, 200, 3)


def test_a_crop_is_a_view_of_its_pixels() -> None:
    crop = cut(IMAGE, Box(0.1, 0.2, 0.3, 0.6))
    assert crop.pixels.shape == (40, 40, 3)
    assert np.shares_memory(crop.pixels, IMAGE)
    assert (crop.pixels == IMAGE[20:60, 20:60]).all()


def test_a_margin_widens_by_the_boxs_own_size_within_the_frame() -> None:
    wide = widened(Box(0.4, 0.0, 0.6, 0.5), 0.5)
    assert (wide.x_min, wide.y_min, wide.x_max, wide.y_max) == pytest.approx((0.3, 0.0, 0.7, 0.75))


def test_boxes_in_a_crop_become_boxes_in_the_frame() -> None:
    inner = cut(IMAGE, Box(0.5, 0.5, 1.0, 1.0)).to_frame(Box(0.0, 0.5, 1.0, 1.0))
    assert inner == Box(0.5, 0.75, 1.0, 1.0)


def test_so_do_points_which_may_lie_outside() -> None:
    crop = cut(IMAGE, Box(0.5, 0.5, 1.0, 1.0))
    assert crop.points_to_frame(((0.0, 0.0), (0.5, 1.0), (-0.5, 1.5))) == ((0.5, 0.5), (0.75, 1.0), (0.25, 1.25))


share = st.floats(0, 1)


@given(share, share, share, share, st.floats(0, 2))
def test_a_crop_is_never_empty_and_its_box_is_what_it_holds(
    x: float, y: float, width: float, height: float, margin: float
) -> None:
    crop = cut(IMAGE, Box(x, y, min(x + width, 1.0), min(y + height, 1.0)), margin)
    rows, columns = crop.pixels.shape[:2]
    assert rows >= 1
    assert columns >= 1
    assert (crop.box.x_max - crop.box.x_min) * 200 == pytest.approx(columns)
    assert (crop.box.y_max - crop.box.y_min) * 100 == pytest.approx(rows)
