"""Cutting regions out of a frame for a network to look at."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

from operators.frames.frame import Box, Corners, Landmarks
from operators.frames.planes import Pixels
from serving.common.tensors import Image

P_co = TypeVar("P_co", bound=Pixels, covariant=True)


@dataclass(frozen=True, slots=True)
class Crop(Generic[P_co]):
    """Pixels cut out of an image, and the box they fill exactly."""

    pixels: P_co
    """The pixels, a view into the image."""
    box: Box

    def to_frame(self, inside: Box) -> Box:
        """Convert a box relative to the crop to one relative to the frame."""
        first, last = self.points_to_frame(((inside.x_min, inside.y_min), (inside.x_max, inside.y_max)))
        return Box(*first, *last)

    def points_to_frame(self, inside: Landmarks) -> Landmarks:
        """Convert points relative to the crop to such relative to the frame."""
        width, height = self.box.x_max - self.box.x_min, self.box.y_max - self.box.y_min
        return tuple((self.box.x_min + x * width, self.box.y_min + y * height) for x, y in inside)


def cut(image: Image, box: Box, margin: float = 0.0) -> Crop[Image]:
    """Cut a box, widened by ``margin`` × its size on every side, out of an image; never empty."""
    height, width = image.shape[:2]
    left, top, right, bottom = widened(box, margin).pixels(width, height)
    filled = Box(left / width, top / height, right / width, bottom / height)
    return Crop(image[top:bottom, left:right], filled)


def widened(box: Corners, margin: float) -> Box:
    """The box with ``margin`` × its width and height added on every side, clipped to the frame."""
    across, down = (box.x_max - box.x_min) * margin, (box.y_max - box.y_min) * margin
    return Box(
        max(0.0, box.x_min - across),
        max(0.0, box.y_min - down),
        min(1.0, box.x_max + across),
        min(1.0, box.y_max + down),
    )
