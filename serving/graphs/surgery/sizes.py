"""Sizes that an exporter wrote down, and what they become where a picture's are others: of tensors, and of a detector's
grids.

An output or a constant may hold all cells of the grids in one row. A cell is a square of as many pixels as its grid's
stride, and says what lies there. Rows hold the finest grid first, each grid row by row. Pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from serving.errors import ModelError

Dims = Sequence[int]


def regrouped(before: Dims, after: Dims, target: Dims) -> list[int]:
    """Return the target of a reshape for dims that were ``before`` and are ``after``; ModelError where none follows.

    Neighbours that were joined or parted are so again.

    >>> regrouped([1, 255, 80, 80], [1, 255, 48, 80], [1, 3, 85, 6400])
    [1, 3, 85, 3840]
    """
    if prod(before) != prod(target) or not prod(before):
        raise ModelError(f"a tensor of {_text(before)} is said to become {_text(target)}")
    result, i, j = list(target), 0, 0
    while i < len(before) or j < len(target):
        first, start, left, right = i, j, 1, 1
        while left != right or (i == first and j == start):
            if j == len(target) or (i < len(before) and left <= right):
                left, i = left * before[i], i + 1
            else:
                right, j = right * target[j], j + 1
        result[start:j] = _group(before[first:i], after[first:i], target[start:j])
    return result


def _group(before: Dims, after: Dims, target: Dims) -> list[int]:
    """The part of a target that has as many elements as these dims, which are of one piece."""
    if prod(before) == prod(after):
        return list(target)
    for place, size in enumerate(target):
        rest = prod(target) // size
        if size > 1 and prod(after) % rest == 0:
            return [*target[:place], prod(after) // rest, *target[place + 1 :]]
    raise ModelError(f"nothing says what {_text(target)} becomes where {_text(before)} is {_text(after)}")


def scaled(before: Dims, after: Dims, target: Dims) -> list[int]:
    """Return the sizes to which a tensor is resized, which grow as it does; ModelError where they would be parts."""
    if len(target) != len(before) or not all(before):
        raise ModelError(f"a tensor of {_text(before)} is said to be resized to {_text(target)}")
    if any(new * size % old for old, new, size in zip(before, after, target, strict=True)):
        raise ModelError(f"{_text(target)} is no whole multiple of {_text(before)}")
    return [new * size // old for old, new, size in zip(before, after, target, strict=True)]


def _text(dims: Dims) -> str:
    return " × ".join(map(str, dims)) or "one number"


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
