"""Masks: polygons in which objects do not count, or outside of which they do not, by the share of a box. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from operators.frames.frame import Region, boxes_of
from operators.frames.polygon import FLAT, Point, Polygon


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
    boxes = boxes_of(regions)
    ignored, required, found = (np.zeros(len(regions), bool) for _ in range(3))
    for mask in masks:
        inside = inside_shares(mask.polygon, boxes) >= INSIDE
        concerned = np.array([mask.labels is None or region.label in mask.labels for region in regions], bool)
        if mask.kind == "ignore":
            ignored |= concerned & inside
        else:
            required |= concerned
            found |= concerned & inside
    counts = ~ignored & (~required | found)
    return [region for region, stays in zip(regions, counts, strict=True) if stays]
