"""An object as zones and lines see it: a point, and its size as the measure of how far is far. Pure."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from operators.frames.frame import Corners, area
from operators.frames.polygon import Point

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
    return shared / max(area(one) + area(other) - shared, 1e-12)
