"""Points, polygons and lines: inside or not, how far away, crossed or not. Pure.

The y axis points down, as in pictures. A point that lies exactly on a side belongs to one of its two halves always, so
that a way over it is counted once.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from operators.frames.polygon import Point

Side = tuple[Point, Point]


def sides_of(points: Sequence[Point], closed: bool) -> tuple[Side, ...]:
    """The sides of a polygon (``closed``: the last corner is joined to the first) or the parts of a line."""
    ends = [*points[1:], points[0]] if closed else points[1:]
    return tuple(zip(points[: len(ends)], ends, strict=True))


def contains(sides: Sequence[Side], point: Point) -> bool:
    """Whether a polygon holds the point: a ray to the right leaves it an odd number of times."""
    x, y = point
    inside = False
    for (x0, y0), (x1, y1) in sides:
        if (y0 > y) != (y1 > y) and x < x0 + (y - y0) / (y1 - y0) * (x1 - x0):
            inside = not inside
    return inside


def distance(sides: Sequence[Side], point: Point, scale: Point) -> float:
    """How far the point is from the nearest side, after both axes were divided by ``scale``."""
    return min(_to_side(side, point, scale) for side in sides)


def crossings(sides: Sequence[Side], start: Point, end: Point) -> int:
    """How often the straight way from ``start`` to ``end`` crosses a line from its left to its right, less the times
    from right to left; left is the left hand of one who walks along the line."""
    total = 0
    for first, second in sides:
        from_left = _is_left(first, second, start)
        if from_left != _is_left(first, second, end) and _is_left(start, end, first) != _is_left(start, end, second):
            total += 1 if from_left else -1
    return total


def _is_left(first: Point, second: Point, point: Point) -> bool:
    """Whether the point lies to the left of the way from ``first`` to ``second``; on it counts as right."""
    along_x, along_y = second[0] - first[0], second[1] - first[1]
    return along_x * (point[1] - first[1]) - along_y * (point[0] - first[0]) < 0


def _to_side(side: Side, point: Point, scale: Point) -> float:
    (x0, y0), (x1, y1) = ((x / scale[0], y / scale[1]) for x, y in side)
    x, y = point[0] / scale[0], point[1] / scale[1]
    along_x, along_y = x1 - x0, y1 - y0
    length = along_x * along_x + along_y * along_y
    share = ((x - x0) * along_x + (y - y0) * along_y) / length if length > 0 else 0.0
    share = min(max(share, 0.0), 1.0)
    return math.hypot(x - x0 - share * along_x, y - y0 - share * along_y)
