"""Cells of grids in one row."""

from __future__ import annotations

import numpy as np

from serving.graphs.surgery.sizes import Grids, Size, guessed

SQUARE, FLAT = Size(64, 64), Size(64, 32)


def test_a_smaller_picture_has_the_upper_rows_of_every_grid() -> None:
    grids = Grids((16, 32), 1)
    assert (grids.cells(SQUARE), grids.cells(FLAT)) == (16 + 4, 8 + 2)
    assert grids.within(SQUARE, FLAT).tolist() == [0, 1, 2, 3, 4, 5, 6, 7, 16, 17]
    assert grids.within(FLAT, FLAT).tolist() == list(range(10))
    assert grids.within(SQUARE, Size(32, 64)).tolist() == [0, 1, 4, 5, 8, 9, 12, 13, 16, 18]


def test_boxes_of_a_cell_lie_together_or_apart() -> None:
    together, apart = (Grids((32,), 2, first).within(SQUARE, FLAT) for first in (False, True))
    assert together.tolist() == [0, 1, 2, 3]
    assert apart.tolist() == [0, 1, 4, 5]


def test_grids_are_guessed_from_lengths_at_two_sizes() -> None:
    sizes = Size(416, 416), Size(416, 256)
    assert guessed([3549, 2184], sizes) == [Grids((8, 16, 32), 1)]
    assert guessed([3 * 3549, 3 * 2184], sizes)[0] == Grids((8, 16, 32), 3)
    assert guessed([3549, 2185], sizes) == []
    assert guessed([0, 0], sizes) == []
    assert guessed([1, 1], (Size(0, 0), Size(0, 0))) == []


def test_known_strides_are_not_guessed() -> None:
    sizes = Size(416, 416), Size(416, 256)
    assert guessed([3549, 2184], sizes, (8, 16, 32)) == [Grids((8, 16, 32), 1)]
    assert guessed([3549, 2184], sizes, (8, 16)) == []
    assert guessed([2 * 3549, 2 * 2184], sizes, (8, 16, 32)) == []


def test_places_are_in_order() -> None:
    kept = Grids((8, 16, 32), 3, True).within(Size(416, 416), Size(416, 256))
    assert (np.diff(kept) > 0).all()
