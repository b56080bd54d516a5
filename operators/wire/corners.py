"""A box in a picture, of operators as of messages. Pure."""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from serving.common.tensors import Image


class Corners:
    """The corners of a box relative to the frame, 0…1, origin top left."""

    __slots__ = ()

    x_min: float
    y_min: float
    x_max: float
    y_max: float

    @property
    def area(self) -> float:
        """Share of the frame, 0…1."""
        return max(0.0, self.x_max - self.x_min) * max(0.0, self.y_max - self.y_min)

    def pixels(self, width: int, height: int) -> tuple[int, int, int, int]:
        """``(left, top, right, bottom)`` clipped to an image of this size, at least one pixel wide and high."""
        left = min(max(int(self.x_min * width), 0), width - 1)
        top = min(max(int(self.y_min * height), 0), height - 1)
        right = min(max(ceil(self.x_max * width), left + 1), width)
        bottom = min(max(ceil(self.y_max * height), top + 1), height)
        return left, top, right, bottom

    def crop(self, image: Image) -> Image:
        """The pixels inside, a view."""
        left, top, right, bottom = self.pixels(image.shape[1], image.shape[0])
        return image[top:bottom, left:right]
