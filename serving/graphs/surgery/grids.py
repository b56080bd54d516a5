"""The cells of a detector's grids, which an output or a constant may hold in one row: which a smaller picture has.

A cell is a square of as many pixels as its grid's stride, and says what lies there. Rows hold the finest grid first,
each grid row by row. Pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

STRIDES = ((8, 16, 32), (8, 16, 32, 64), (16, 32), (4, 8, 16, 32), (4, 8, 16), (8,), (16,), (32,), (4,))
"""Grids that detectors have."""
MOST_BOXES = 9
"""Boxes for each cell."""


class Size(NamedTuple):
    """Pixels of a network's input."""

    width: int
    height: int


class Grids(NamedTuple):
    """Grids of cells with so many boxes for each of them."""

    strides: Sequence[int]
    boxes: int
    boxes_first: bool = False
    """Whether a grid holds all cells of its first box first, rather than all boxes of its first cell."""

    def cells(self, size: Size) -> int:
        return self.boxes * sum((size.height // stride) * (size.width // stride) for stride in self.strides)

    def within(self, size: Size, part: Size) -> NDArray[np.intp]:
        """Return the places of those cells that lie in the upper left part of a picture, in their order."""
        kept = []
        for stride in self.strides:
            rows, columns = np.mgrid[: size.height // stride, : size.width // stride]
            inside = ((rows < part.height // stride) & (columns < part.width // stride)).reshape(-1)
            kept.append(np.tile(inside, self.boxes) if self.boxes_first else np.repeat(inside, self.boxes))
        return np.flatnonzero(np.concatenate(kept))


def guessed(lengths: Sequence[int], sizes: Sequence[Size], known: Sequence[int] | None = None) -> list[Grids]:
    """Return the grids whose rows have these lengths at these sizes, likely ones first.

    ``known``: the strides, where they are known; cells are in their order then, with one box each.
    """
    if known is not None:
        grids = Grids(known, 1)
        return [grids] if [grids.cells(size) for size in sizes] == [*lengths] else []
    found = []
    for strides in STRIDES:
        cells = Grids(strides, 1).cells(sizes[0])
        boxes, rest = divmod(lengths[0], cells) if cells else (0, 1)
        if rest or not 0 < boxes <= MOST_BOXES:
            continue
        for boxes_first in (False, True)[: 1 + (boxes > 1)]:
            grids = Grids(strides, boxes, boxes_first)
            if all(grids.cells(size) == length for size, length in zip(sizes, lengths, strict=True)):
                found.append(grids)
    return found
