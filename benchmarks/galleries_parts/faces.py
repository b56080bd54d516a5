"""Faces of real pictures, and the pictures as another camera would show them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from operators.base import Operator, ask
from operators.detect.detections import overlaps
from operators.frames.crops import cut
from operators.frames.frame import Box, Frame, Region
from operators.testing import call, make_frame
from serving.common.tensors import Image

LEAST_PIXELS = 40
"""Height of the smallest face that is enrolled."""
SAME_FACE = 0.3
"""Least overlap (intersection over union) of the boxes that two detectors give one face."""


@dataclass(frozen=True)
class Face:
    """A face that both detectors find, and its picture."""

    name: str
    picture: Path
    box: Box
    """The mean of both boxes."""

    def photo(self, surroundings: float) -> Image:
        """What is enrolled: the face with so much of its size around it."""
        return cut(read(self.picture), self.box, surroundings).pixels


@dataclass(frozen=True)
class View:
    """A picture as it is to be recognised."""

    frame: Frame
    box: Box
    """Where the face is."""


def read(path: Path) -> Image:
    """The picture."""
    image: Image | None = cv2.imread(str(path))
    assert image is not None, path
    return image


async def faces(pictures: Sequence[Path], detectors: Mapping[str, Operator]) -> list[Face]:
    """All faces of the pictures that every detector finds and that are large enough."""
    found = list[Face]()
    for path in pictures:
        frame = make_frame(image=read(path))
        seen = [(await ask(detector, frame, [], call(name))).regions for name, detector in detectors.items()]
        boxes = [_mean(first, best) for first in seen[0] if (best := nearest(first.box, seen[1])) is not None]
        large = [box for box in boxes if (box.y_max - box.y_min) * frame.height >= LEAST_PIXELS]
        found += [Face(f"{path.stem}-{number}", path, box) for number, box in enumerate(large)]
    return found


def nearest(box: Box, regions: Sequence[Region]) -> Region | None:
    """The region that overlaps a box the most, if enough."""
    if not regions:
        return None
    shares = overlaps(_corners([box]), _corners([each.box for each in regions]))[0]
    best = int(shares.argmax())
    return regions[best] if shares[best] >= SAME_FACE else None


def views(face: Face) -> Iterator[tuple[str, View]]:
    """The face's picture: darker and smaller; with the camera turned by some degrees; mirrored; from farther away."""
    image, box = read(face.picture), face.box
    dusk = (image * 0.7).astype(np.uint8)
    yield "darker", View(make_frame(image=_scaled(dusk, 0.9)), box)
    for degrees in (15, -30):
        yield f"turned {abs(degrees)}°", _turned(image, box, degrees)
    yield (
        "mirrored",
        View(make_frame(image=cv2.flip(image, 1)), Box(1 - box.x_max, box.y_min, 1 - box.x_min, box.y_max)),
    )
    height = (box.y_max - box.y_min) * image.shape[0]
    yield "face of 36 pixels", View(make_frame(image=_scaled(image, 36 / height)), box)


def _scaled(image: Image, scale: float) -> Image:
    small: Image = cv2.resize(image, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA)
    return small


def _turned(image: Image, box: Box, degrees: float) -> View:
    """The picture turned about the middle of the face, whose box then has the same place and size."""
    height, width = image.shape[:2]
    centre = (box.x_min + box.x_max) / 2 * width, (box.y_min + box.y_max) / 2 * height
    turn = cv2.getRotationMatrix2D(centre, degrees, 1.0)
    return View(make_frame(image=cv2.warpAffine(image, turn, (width, height))), box)


def _mean(one: Region, other: Region) -> Box:
    sides = _corners([one.box, other.box]).mean(axis=0)
    return Box(*map(float, sides))


def _corners(boxes: Sequence[Box]) -> NDArray[np.float64]:
    return np.array([[each.x_min, each.y_min, each.x_max, each.y_max] for each in boxes])
