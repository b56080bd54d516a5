"""Polygons and lines in a camera's picture, and their faults; without numpy, which a wrong query does without. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations, pairwise

Point = tuple[float, float]
"""Shares of the frame's width and height, 0…1, from the top left."""
Polygon = tuple[Point, ...]
"""The corners in order, in either direction; the last is joined to the first."""

FLAT = 1e-12
"""Differences of height below this are rounding."""


LEAST_LENGTH = 1e-6
"""Points of a line that are closer to each other are one."""


def polygon_fault(corners: Sequence[Point]) -> str | None:
    """Why these corners are not those of one area; None: they are."""
    if repeated := next((b for a, b in zip(corners, [*corners[1:], corners[0]], strict=True) if a == b), None):
        return f"the corner {list(repeated)} comes twice running: leave one out"
    sides = list(zip(corners, [*corners[1:], corners[0]], strict=True))
    for (i, one), (j, other) in combinations(enumerate(sides), 2):
        neighbours = j - i == 1 or j - i == len(sides) - 1
        if not neighbours and _meet(one, other):
            return f"sides {i + 1} and {j + 1} cross: list the corners in the order in which one walks round"
    return None if abs(_signed_area(corners)) > FLAT else "its corners lie on one line: no object can be inside"


def line_fault(points: Sequence[Point]) -> str | None:
    """Why these points are not those of one line; None: they are."""
    parts = list(pairwise(points))
    if repeated := next((a for a, b in parts if math.dist(a, b) < LEAST_LENGTH), None):
        return f"two points running are {list(repeated)}: a line has a length"
    for (i, one), (j, other) in combinations(enumerate(parts), 2):
        if _meet(one, other) if j - i > 1 else _turns_back(one, other):
            return f"parts {i + 1} and {j + 1} meet: what crosses there would cross twice"
    return None


def _turns_back(one: tuple[Point, Point], other: tuple[Point, Point]) -> bool:
    """Whether a part of a line lies on the part before it."""
    (a, b), (_, c) = one, other
    return _turn(a, b, c) == 0 and (b[0] - a[0]) * (c[0] - b[0]) + (b[1] - a[1]) * (c[1] - b[1]) < 0


def _signed_area(corners: Sequence[Point]) -> float:
    return sum(a[0] * b[1] - b[0] * a[1] for a, b in zip(corners, [*corners[1:], corners[0]], strict=True)) / 2


def _meet(one: tuple[Point, Point], other: tuple[Point, Point]) -> bool:
    """Whether two sides have a point in common."""
    (a, b), (c, d) = one, other
    turns = _turn(a, b, c), _turn(a, b, d), _turn(c, d, a), _turn(c, d, b)
    if turns[0] * turns[1] < 0 and turns[2] * turns[3] < 0:
        return True
    ends = ((a, b, c), (a, b, d), (c, d, a), (c, d, b))
    return any(turn == 0 and _between(*each) for turn, each in zip(turns, ends, strict=True))


def _turn(a: Point, b: Point, c: Point) -> int:
    """1: c lies to the left of the way from a to b, −1: to the right, 0: on its line."""
    cross = (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])
    return (cross > FLAT) - (cross < -FLAT)


def _between(a: Point, b: Point, c: Point) -> bool:
    """Whether c, which is on the line of a and b, lies between them."""
    return min(a[0], b[0]) <= c[0] <= max(a[0], b[0]) and min(a[1], b[1]) <= c[1] <= max(a[1], b[1])
