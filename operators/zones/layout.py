"""The zones and lines of a query, and those in the picture of one stream. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cached_property
from typing import ClassVar

from operators.frames.frame import Box
from operators.frames.polygon import Point, Polygon
from operators.zones.geometry import Anchor, Side, contains, distance, has_place, point_of, sides_of


@dataclass(frozen=True)
class Shape:
    """The common part of zones and lines."""

    closed: ClassVar[bool] = False
    """Whether the last point is joined to the first."""

    name: str
    points: Polygon
    """Corners in order, shares of the frame's width and height from the top left."""
    streams: tuple[str, ...] = ("*",)
    """Ids of streams; ``*`` stands for any characters."""
    labels: frozenset[str] | None = None
    """The detector's words for the objects it is about; None: all."""
    anchor: Anchor = "bottom"
    """The point of a box that stands for the object."""

    def is_for(self, stream: str) -> bool:
        return any(fnmatchcase(stream, pattern) for pattern in self.streams)

    def concerns(self, label: str) -> bool:
        """Whether it is about objects that the detector calls so."""
        return self.labels is None or label in self.labels

    @cached_property
    def bounds(self) -> tuple[Point, Point]:
        """The corners of the least upright rectangle around it."""
        across, down = zip(*self.points, strict=True)
        return (min(across), min(down)), (max(across), max(down))

    @cached_property
    def sides(self) -> tuple[Side, ...]:
        return sides_of(self.points, self.closed)

    def is_close(self, point: Point, size: Point, margin: float) -> bool:
        """Whether an object of this size is no farther from its outline than this share of its width and height."""
        near = self._is_near(point, (margin * size[0], margin * size[1]))
        return near and distance(self.sides, point, size) <= margin

    def _is_near(self, point: Point, within: Point) -> bool:
        (left, top), (right, bottom) = self.bounds
        x, y = point
        return left - within[0] <= x <= right + within[0] and top - within[1] <= y <= bottom + within[1]


@dataclass(frozen=True)
class Zone(Shape):
    """An area of the picture."""

    closed = True

    def holds(self, point: Point) -> bool:
        return self._is_near(point, (0.0, 0.0)) and contains(self.sides, point)


@dataclass(frozen=True)
class Line(Shape):
    """A line that objects cross, from the left hand of one who walks along it to the right hand, or back."""


@dataclass(frozen=True)
class Layout:
    """Zones and lines, of a query or of one stream."""

    zones: tuple[Zone, ...] = ()
    lines: tuple[Line, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.zones or self.lines)

    def of(self, stream: str) -> Layout:
        zones = tuple(zone for zone in self.zones if zone.is_for(stream))
        return Layout(zones, tuple(line for line in self.lines if line.is_for(stream)))


NOTHING = Layout()
"""No zones and no lines."""


def zones_at(zones: Sequence[Zone], box: Box, label: str) -> tuple[str, ...]:
    """The names of the zones that hold an object, by its point; none for a box whose corners are no numbers."""
    if not has_place(box):
        return ()
    points = {anchor: point_of(box, anchor) for anchor in {zone.anchor for zone in zones}}
    return tuple(zone.name for zone in zones if zone.concerns(label) and zone.holds(points[zone.anchor]))
