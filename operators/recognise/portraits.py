"""Finds on a picture the object that is to be enrolled: as the query's own detector will find it in frames.

A network compares what it is shown. Pictures that are enrolled whole, with hair and background, are not like the tight
boxes of a detector, so both go the same way: the detector, the filters of the query, the recogniser's crop.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Protocol

import cv2

from operators.base import Call, Operator
from operators.frames.frame import WHOLE, Box, Landmarks, Region, frame_of
from operators.plan import Decision
from operators.wire.schema import FrameId
from serving.common.tensors import Image
from serving.common.threads import in_thread
from serving.errors import BadInput
from serving.scheduling.urgency import Urgency

BORDERS = (0.0, 0.25, 1.0)
"""Shares of its size that a picture gets on every side, one look for each: detectors miss faces that fill a picture."""
LONGEST = 640
"""Pixels of a picture's longer side in looks with a border."""
GREY = (114, 114, 114)


@dataclass(frozen=True, slots=True)
class Portrait:
    """What is enrolled of a picture."""

    box: Box
    found: int
    """Objects that could have been meant."""
    landmarks: Landmarks | None = None
    """Shares of the picture, as the box."""


class Finder(Protocol):
    """Finds the object of a picture."""

    async def find(self, path: Path, picture: Image) -> Portrait:
        """``path`` is for the message; raises BadInput, one line, where the picture shows no such object."""
        ...


class Whole:
    """For nodes whose objects no network detects: the picture is the object."""

    async def find(self, path: Path, picture: Image) -> Portrait:
        """All of the picture."""
        return Portrait(WHOLE, 1)


@dataclass(frozen=True)
class Detected:
    """The largest object that the query would recognise."""

    detector: Operator
    """Looks at whole frames, with no masks."""
    model: str
    """The detector's network."""
    wanted: Callable[[Region], bool]
    """The filters between the detector and the recogniser."""

    async def find(self, path: Path, picture: Image) -> Portrait:
        """See ``Finder``."""
        looks = [await self._look(picture, border) for border in BORDERS]
        found = max(looks, key=lambda seen: max((each.box.area for each in seen), default=0.0))
        if not found:
            raise BadInput(
                f"gallery picture {path}: {self.model!r} finds nothing on it that this query would recognise; "
                "replace it by one with some surroundings, or remove it"
            )
        largest = max(found, key=lambda each: each.box.area)
        return Portrait(largest.box, len(found), largest.landmarks)

    async def _look(self, picture: Image, border: float) -> list[Region]:
        """The objects of the picture, as shares of it."""
        shown = picture if border == 0 else await in_thread(partial(bordered, shrunk(picture, LONGEST), border))
        frame = frame_of(FrameId("gallery", "enrolment", 0), shown)
        regions = await self.detector.process(frame, [], Call(Decision(self.model), Urgency(math.inf)))
        seen = [_without_border(region, border) for region in regions if self.wanted(region)]
        return [each for each in seen if each.box.area > 0]


def shrunk(picture: Image, longest: int) -> Image:
    """The picture, its longer side at most so many pixels."""
    scale = longest / max(picture.shape[:2])
    if scale >= 1:
        return picture
    small: Image = cv2.resize(picture, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA)
    return small


def bordered(picture: Image, share: float) -> Image:
    """The picture with a grey border of a share of its width and height on every side."""
    down, across = (round(side * share) for side in picture.shape[:2])
    framed: Image = cv2.copyMakeBorder(picture, down, down, across, across, cv2.BORDER_CONSTANT, value=GREY)
    return framed


def _without_border(region: Region, border: float) -> Region:
    """From shares of the picture with its border to shares of the picture, the box cut to it."""
    size, box, points = 1 + 2 * border, region.box, region.landmarks
    x_min, y_min, x_max, y_max = (
        min(max(side * size - border, 0.0), 1.0) for side in (box.x_min, box.y_min, box.x_max, box.y_max)
    )
    landmarks = None if points is None else tuple((x * size - border, y * size - border) for x, y in points)
    return replace(region, box=Box(x_min, y_min, x_max, y_max), landmarks=landmarks)
