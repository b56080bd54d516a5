"""Which objects of two frames, some frames apart, may be one that moved. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from operators.frames.frame import Box, Region

REACH = 2.0
"""So many times its size an object may have moved; flow would lose it before."""
ALIKE = 1.4
"""So many times as wide or as high it may have become where nothing but its place and size says that it is the same."""


def may_be(one: Region, other: Region, sure: float) -> bool:
    """Whether the objects have one label, are in reach of each other, and one is sure enough to count by itself."""
    return one.label == other.label and max(one.confidence, other.confidence) >= sure and _near(one.box, other.box)


def lone_pairs(gone: Sequence[Region], new: Sequence[Region], sure: float) -> list[tuple[int, int]]:
    """Return the places of those that may be the same, are alike in size, and have no other choice on either side."""
    may = [
        (i, j)
        for i, one in enumerate(gone)
        for j, other in enumerate(new)
        if may_be(one, other, sure) and _alike(one.box, other.box)
    ]
    of_gone, of_new = Counter(i for i, _ in may), Counter(j for _, j in may)
    return [(i, j) for i, j in may if of_gone[i] == of_new[j] == 1]


def _near(one: Box, other: Box) -> bool:
    wide, high = (REACH * max(x, y) for x, y in zip(_sides(one), _sides(other), strict=True))
    across, down = one.x_min + one.x_max - other.x_min - other.x_max, one.y_min + one.y_max - other.y_min - other.y_max
    return abs(across) <= 2 * wide and abs(down) <= 2 * high


def _alike(one: Box, other: Box) -> bool:
    return all(max(x, y) <= ALIKE * min(x, y) for x, y in zip(_sides(one), _sides(other), strict=True))


def _sides(box: Box) -> tuple[float, float]:
    return box.x_max - box.x_min, box.y_max - box.y_min
