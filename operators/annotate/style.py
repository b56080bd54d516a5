"""Sizes that follow the picture, and text on a filled ground."""

from __future__ import annotations

from dataclasses import dataclass

import cv2

from operators.annotate.captions import Colour
from operators.annotate.places import Rectangle, Size
from serving.common.tensors import Image

FONT = cv2.FONT_HERSHEY_SIMPLEX
BLACK: Colour = (0, 0, 0)
WHITE: Colour = (255, 255, 255)


@dataclass(frozen=True, slots=True)
class Style:
    """Sizes for a picture: text that can be read, and covers little of it."""

    scale: float
    """The size of the font; 1 is letters 22 pixels high."""
    stroke: int
    """Pixels of a box's sides."""

    @classmethod
    def of(cls, image: Image) -> Style:
        """Return the style for a picture."""
        height, width = image.shape[:2]
        middle = (height * width) ** 0.5
        return cls(min(max(middle / 2200, 0.35), 1.4), max(1, round(middle / 700)))

    @property
    def weight(self) -> int:
        """Pixels of a letter's strokes."""
        return max(1, round(1.6 * self.scale))

    @property
    def pad(self) -> int:
        """Pixels around text."""
        return max(1, round(5 * self.scale))

    @property
    def row(self) -> int:
        """Height of a line in pixels, its ground included."""
        return round(24 * self.scale) + 2 * self.pad

    def extent(self, text: str) -> Size:
        """Width and height of a line in pixels, its ground included."""
        return cv2.getTextSize(text, FONT, self.scale, self.weight)[0][0] + 2 * self.pad, self.row

    def write(self, canvas: Image, text: str, place: Rectangle, ground: Colour) -> None:
        """Write a line on a filled ground."""
        left, top, right, bottom = place
        cv2.rectangle(canvas, (left, top), (right - 1, bottom - 1), ground, cv2.FILLED)
        blue, green, red = ground
        ink = BLACK if 0.114 * blue + 0.587 * green + 0.299 * red > 128 else WHITE
        at = (left + self.pad, bottom - self.pad - round(4 * self.scale))
        cv2.putText(canvas, text, at, FONT, self.scale, ink, self.weight, cv2.LINE_AA)
