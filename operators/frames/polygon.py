"""Polygons in a camera's picture: their faults, the share of a box that lies inside, and masks made of them, in which
objects do not count or outside of which they do not. Pure.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import combinations, pairwise
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from operators.frames.frame import Region

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


def inside_shares(polygon: Sequence[Point], boxes: NDArray[Any]) -> NDArray[np.float64]:
    """K × 4 boxes (x_min, y_min, x_max, y_max) → the share of each box's area that lies in the polygon, 0…1.

    Exact, by Green's theorem: the area under each side, cut to the box, is summed with the side's sign.
    """
    corners = np.asarray(polygon, np.float64)
    start, end = corners[None], np.roll(corners, -1, axis=0)[None]
    left, top, right, bottom = (np.asarray(boxes, np.float64)[:, None, side] for side in range(4))
    x0, x1 = np.clip(start[..., 0], left, right), np.clip(end[..., 0], left, right)
    y0, y1 = _height_at(x0, start, end), _height_at(x1, start, end)
    under = (x1 - x0) * _mean_clipped(y0, y1, top, bottom)
    area = np.maximum((right - left) * (bottom - top), FLAT)[:, 0]
    shares: NDArray[np.float64] = np.clip(np.abs(under.sum(axis=1)) / area, 0.0, 1.0)
    return shares


def _height_at(x: NDArray[Any], start: NDArray[Any], end: NDArray[Any]) -> NDArray[Any]:
    """The height of each side's line at ``x``; of an upright side its first corner's, where it adds nothing."""
    run, rise = end[..., 0] - start[..., 0], end[..., 1] - start[..., 1]
    slope = np.divide(rise, run, out=np.zeros_like(run), where=np.abs(run) > FLAT)
    return np.asarray(start[..., 1] + slope * (x - start[..., 0]))


def _mean_clipped(y0: NDArray[Any], y1: NDArray[Any], top: NDArray[Any], bottom: NDArray[Any]) -> NDArray[Any]:
    """The mean over a side of its height within the box, measured from the box's top."""
    rise = y1 - y0
    integral = _integral(y1, top, bottom) - _integral(y0, top, bottom)
    level = np.clip(y0, top, bottom) - top
    slopes = np.abs(rise) > FLAT
    mean: NDArray[np.float64] = np.where(slopes, integral / np.where(slopes, rise, 1.0), level)
    return mean


def _integral(y: NDArray[Any], top: NDArray[Any], bottom: NDArray[Any]) -> NDArray[Any]:
    """The integral from ``top`` to ``y`` of the height, cut to the box."""
    within, below = np.clip(y, top, bottom) - top, np.maximum(y - bottom, 0.0)
    return np.asarray(within * within / 2 + below * (bottom - top))


INSIDE = 0.5 - 1e-9
"""Share of a box that lies in the polygon of a mask where the object is in it: half, but for rounding."""


@dataclass(frozen=True, slots=True)
class Mask:
    """One polygon in the picture of the streams that it is for."""

    polygon: Polygon
    kind: Literal["ignore", "require"]
    """``ignore``: objects inside do not count; ``require``: objects count only inside this one or another like it."""
    streams: tuple[str, ...] = ("*",)
    """Ids of streams; ``*`` stands for any characters."""
    labels: frozenset[str] | None = None
    """The detector's words for the objects it is about; None: all."""

    def is_for(self, stream: str) -> bool:
        return any(fnmatchcase(stream, pattern) for pattern in self.streams)


def masks_of(masks: Sequence[Mask], stream: str) -> tuple[Mask, ...]:
    return tuple(mask for mask in masks if mask.is_for(stream))


def kept(masks: Sequence[Mask], regions: Sequence[Region]) -> list[Region]:
    """The regions that count, in their order: in no mask that ignores them, and in one of those that require it."""
    if not masks or not regions:
        return list(regions)
    boxes = np.array([(each.box.x_min, each.box.y_min, each.box.x_max, each.box.y_max) for each in regions])
    ignored, required, found = (np.zeros(len(regions), bool) for _ in range(3))
    for mask in masks:
        inside = inside_shares(mask.polygon, boxes) >= INSIDE
        concerned = _concerned(mask, regions)
        if mask.kind == "ignore":
            ignored |= concerned & inside
        else:
            required |= concerned
            found |= concerned & inside
    counts = ~ignored & (~required | found)
    return [region for region, stays in zip(regions, counts, strict=True) if stays]


def _concerned(mask: Mask, regions: Sequence[Region]) -> NDArray[np.bool_]:
    return np.array([mask.labels is None or region.label in mask.labels for region in regions], bool)
