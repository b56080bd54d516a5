"""Finds on a picture the object that is to be enrolled: as the query's own detector will find it in frames.

A network compares what it is shown. Pictures that are enrolled whole, with hair and background, are not like the tight
boxes of a detector, so both go the same way: the detector, the filters of the query, the recogniser's crop.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Protocol

import cv2

from operators.base import Call, Operator, ask
from operators.decision import Decision
from operators.frames.frame import WHOLE, Box, Landmarks, Region, frame_of
from operators.wire.schema import FrameId
from operators.zones.geometry import overlap
from serving.common.tensors import Image
from serving.common.threads import in_thread
from serving.errors import BadInput
from serving.scheduling.requests import Urgency

BORDERS = (0.0, 0.25, 1.0)
"""Shares of its size that a picture gets on every side, one look for each: detectors miss faces that fill a picture."""
PLAIN = 0.1
"""Share of the picture from which the largest object of two looks is the one that is meant: a third look is spared."""
SAME = 0.5
"""Intersection over union from which two looks have found the same object."""
BORDER = 0.125
"""Share of its size by which a picture that is enrolled whole is seen farther away."""
LONGEST = 640
"""Pixels of a picture's longer side in looks with a border."""
GREY = (114, 114, 114)


@dataclass(frozen=True, slots=True)
class Portrait:
    """The enrolled part of a picture."""

    box: Box
    found: int
    """Objects that could have been meant."""
    landmarks: Landmarks | None = None
    """Shares of the picture, as the box."""
    farther: Region | None = None
    """The largest object that was found with a border around the picture; None where there was none."""


@dataclass(frozen=True, slots=True)
class FromAfar:
    """A part of a picture, as it is cut out."""

    picture: Image
    box: Box
    landmarks: Landmarks | None = None


class PortraitFinder(Protocol):
    """Finds the object of a picture."""

    async def find(self, path: Path, picture: Image) -> Portrait:
        """``path`` is for the message; raises BadInput, one line, where the picture shows no such object."""
        ...

    def farther(self, portrait: Portrait, picture: Image) -> FromAfar | None:
        """Return the object as it is seen a little farther away; None where it is not found then."""
        ...


class WholePicture:
    """For nodes whose objects no network detects: the picture is the object."""

    async def find(self, path: Path, picture: Image) -> Portrait:
        return Portrait(WHOLE, 1)

    def farther(self, portrait: Portrait, picture: Image) -> FromAfar | None:
        return FromAfar(bordered(picture, BORDER), WHOLE)


@dataclass(frozen=True)
class DetectedObject:
    """The largest object that the query would recognise."""

    detector: Operator
    """Looks at whole frames, with no masks."""
    model: str
    """The detector's network."""
    wanted: Callable[[Region], bool]
    """The filters between the detector and the recogniser."""

    async def find(self, path: Path, picture: Image) -> Portrait:
        looks: list[list[Region]] = []
        for border in BORDERS:
            looks.append(await self._look(picture, border))
            if len(looks) == 2 and _plain(*looks):
                break
        found = max(looks, key=_area)
        if not found:
            raise BadInput(
                f"gallery picture {path}: {self.model!r} finds nothing on it that this query would recognise; "
                "replace it by one with some surroundings, or remove it"
            )
        largest = _largest(found)
        farther = next((_largest(look) for look in looks[1:] if look), None)
        return Portrait(largest.box, len(found), largest.landmarks, farther)

    def farther(self, portrait: Portrait, picture: Image) -> FromAfar | None:
        """Return the picture, cut where the object lies by a look with a border."""
        found = portrait.farther
        return None if found is None else FromAfar(picture, found.box, found.landmarks)

    async def _look(self, picture: Image, border: float) -> list[Region]:
        """The objects of the picture, as shares of it."""
        shown = picture if border == 0 else await in_thread(partial(bordered, shrunk(picture, LONGEST), border))
        frame = frame_of(FrameId("gallery", "enrolment", 0), shown)
        answer = await ask(self.detector, frame, [], Call(Decision(self.model), Urgency(math.inf)))
        seen = [_without_border(region, border) for region in answer.regions if self.wanted(region)]
        return [each for each in seen if each.box.area > 0]


def _largest(look: Sequence[Region]) -> Region:
    return max(look, key=lambda each: each.box.area)


def _area(look: Sequence[Region]) -> float:
    return max((each.box.area for each in look), default=0.0)


def _plain(one: Sequence[Region], other: Sequence[Region]) -> bool:
    """Whether two looks have found the same object, and one that is too large for there to be a larger one."""
    if min(_area(one), _area(other)) < PLAIN:
        return False
    return overlap(_largest(one).box, _largest(other).box) >= SAME


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
