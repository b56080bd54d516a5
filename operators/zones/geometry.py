"""Points, polygons and lines: inside or not, how far away, crossed or not. Pure.

The y axis points down, as in pictures. A point that lies exactly on a side belongs to one of its two halves always, so
that a way over it is counted once.

A sighting is an object as zones and lines see it: a point, and its size as the measure of how far is far.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from operators.frames.polygon import Point
from operators.wire.corners import Corners

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


Anchor = Literal["bottom", "centre"]
"""The point of a box that stands for the object: ``bottom``, the middle of the lower side, where it stands on the
ground; or ``centre``, of the box."""
EDGE = 1e-6
"""A point outside of the picture counts as so far inside of its edge: an object that is cut off stands there."""
LEAST_SIZE = 0.01
"""Smaller boxes are measured as if they had this share of the frame's width or height."""


@dataclass(frozen=True, slots=True)
class SightingMoment:
    """When something was seen."""

    now_s: float
    """Media time that has passed in the stream, by a stopwatch that no jump disturbs."""
    media_time_s: float
    """The frame's."""


@dataclass(frozen=True, slots=True)
class Sighting:
    """A tracked object in one frame."""

    track: int
    box: Corners
    label: str
    """The detector's word."""
    moment: SightingMoment

    def __post_init__(self) -> None:
        if not has_place(self.box):
            raise ValueError("the corners of a box should be numbers")

    def point(self, anchor: Anchor) -> Point:
        return point_of(self.box, anchor)

    @property
    def size(self) -> Point:
        """Width and height of the box, shares of the frame."""
        box = self.box
        return max(box.x_max - box.x_min, LEAST_SIZE), max(box.y_max - box.y_min, LEAST_SIZE)


def has_place(box: Corners) -> bool:
    return all(map(math.isfinite, (box.x_min, box.y_min, box.x_max, box.y_max)))


def point_of(box: Corners, anchor: Anchor) -> Point:
    """The point of a box that stands for the object, inside the picture."""
    x = (box.x_min + box.x_max) / 2
    y = box.y_max if anchor == "bottom" else (box.y_min + box.y_max) / 2
    return min(max(x, EDGE), 1 - EDGE), min(max(y, EDGE), 1 - EDGE)


def overlap(one: Corners, other: Corners) -> float:
    """Intersection over union of two boxes, 0…1."""
    across = min(one.x_max, other.x_max) - max(one.x_min, other.x_min)
    down = min(one.y_max, other.y_max) - max(one.y_min, other.y_min)
    shared = max(0.0, across) * max(0.0, down)
    return shared / max(one.area + other.area - shared, 1e-12)
