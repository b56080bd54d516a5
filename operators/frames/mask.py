"""Masks: areas of a camera's picture in which objects do not count, or outside of which they do not. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from operators.frames.frame import Region
from operators.frames.inside import inside_shares
from operators.frames.polygon import Polygon

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
