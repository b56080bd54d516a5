"""Small transparent pictures: each moving thing is drawn on one, then laid over the frame.

Colours are premultiplied with their coverage (four channels: blue, green, red, coverage), so that blurring and tinting
a sprite keeps its edges right, and its coverage says exactly which pixels of the frame it owns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import cv2
import numpy as np
from numpy.typing import NDArray

Image = NDArray[np.uint8]
Colour = Sequence[float]
SHIFT = 4  # cv2 takes vertices in 1/16 pixel
SOLID = 110  # coverage from which a pixel belongs to the thing drawn


@dataclass(frozen=True)
class Sprite:
    """A drawing surface (h×w×4) whose top left pixel lies at ``(left, top)`` of the frame, which may be outside."""

    pixels: Image
    left: int
    top: int

    @classmethod
    def around(cls, points: NDArray[np.float64], margin_px: int, frame: tuple[int, int]) -> Sprite | None:
        """A blank sprite that holds these frame points (N×2); None if it lies outside the frame (width, height)."""
        low = np.floor(points.min(axis=0)).astype(int) - margin_px
        high = np.ceil(points.max(axis=0)).astype(int) + margin_px + 1
        width, height = frame
        if low[0] >= width or low[1] >= height or high[0] <= 0 or high[1] <= 0:
            return None
        low = np.maximum(low, (-width, -height))
        high = np.minimum(high, (2 * width, 2 * height))
        return cls(np.zeros((high[1] - low[1], high[0] - low[0], 4), np.uint8), int(low[0]), int(low[1]))

    def fixed(self, points: NDArray[np.float64]) -> NDArray[np.int32]:
        """Frame points → the fixed-point sprite coordinates that ``fill`` takes."""
        sixteenths: NDArray[np.int32] = np.rint((points - (self.left, self.top)) * (1 << SHIFT)).astype(np.int32)
        return sixteenths

    def fill(self, vertices: NDArray[np.int32], colour: Colour, convex: bool = True) -> None:
        """Fill a polygon (from ``fixed``) with an opaque colour, edges anti-aliased."""
        bgra = (colour[0], colour[1], colour[2], 255)
        if convex:
            cv2.fillConvexPoly(self.pixels, vertices, bgra, cv2.LINE_AA, SHIFT)
        else:
            cv2.fillPoly(self.pixels, [vertices], bgra, cv2.LINE_AA, SHIFT)

    def blurred(self, length_px: float) -> Sprite:
        """The sprite smeared sideways, as by a shutter that stays open."""
        kernel = int(length_px) | 1
        if kernel < 3:
            return self
        return Sprite(cv2.blur(self.pixels, (kernel, 1)), self.left, self.top)

    def tinted(self, gain: Colour, haze: Colour = (0, 0, 0), haze_share: float = 0.0) -> Sprite:
        """Colours multiplied by ``gain`` and mixed with ``haze``; coverage stays."""
        matrix = np.eye(4, dtype=np.float32)
        matrix[:3, :3] *= np.array(gain, np.float32) * (1 - haze_share)
        matrix[:3, 3] = np.array(haze, np.float32) * (haze_share / 255)
        return Sprite(cv2.transform(self.pixels, matrix), self.left, self.top)

    def touches(self, other: Sprite) -> bool:
        """Whether the two rectangles overlap."""
        height, width = self.pixels.shape[:2]
        other_height, other_width = other.pixels.shape[:2]
        across = self.left < other.left + other_width and other.left < self.left + width
        return bool(across and self.top < other.top + other_height and other.top < self.top + height)

    def clip(self, frame: Image) -> tuple[slice, slice, slice, slice]:
        """Rows and columns of the frame that the sprite covers, and the sprite's own rows and columns for them."""
        height, width = frame.shape[:2]
        top, left = max(self.top, 0), max(self.left, 0)
        bottom = min(self.top + self.pixels.shape[0], height)
        right = min(self.left + self.pixels.shape[1], width)
        rows, columns = slice(top, max(bottom, top)), slice(left, max(right, left))
        own_rows = slice(rows.start - self.top, rows.stop - self.top)
        own_columns = slice(columns.start - self.left, columns.stop - self.left)
        return rows, columns, own_rows, own_columns

    def lay_over(self, frame: Image, owners: NDArray[np.int32], owner: int) -> None:
        """Draw onto the frame and enter ``owner`` for the pixels covered (0: nobody)."""
        rows, columns, own_rows, own_columns = self.clip(frame)
        part = self.pixels[own_rows, own_columns]
        if part.size == 0:
            return
        coverage = part[..., 3]
        through = cv2.cvtColor(255 - coverage, cv2.COLOR_GRAY2BGR)
        under = cv2.multiply(frame[rows, columns], through, scale=1 / 255)
        frame[rows, columns] = cv2.add(under, cv2.cvtColor(part, cv2.COLOR_BGRA2BGR))
        owners[rows, columns][coverage >= SOLID] = owner


def darken(frame: Image, polygon: NDArray[np.float64], strength: float, softness_px: int) -> None:
    """Multiply the frame inside a polygon (frame points) by ``1 - strength``, with a soft edge: a shadow."""
    sprite = Sprite.around(polygon, softness_px + 2, (frame.shape[1], frame.shape[0]))
    if sprite is None or strength <= 0:
        return
    rows, columns, own_rows, own_columns = sprite.clip(frame)
    mask = np.zeros(sprite.pixels.shape[:2], np.uint8)
    cv2.fillConvexPoly(mask, sprite.fixed(polygon), 255 * strength, cv2.LINE_AA, SHIFT)
    mask = cv2.blur(mask, (softness_px | 1, softness_px | 1))[own_rows, own_columns]
    keep = cv2.cvtColor(255 - mask, cv2.COLOR_GRAY2BGR)
    frame[rows, columns] = cv2.multiply(frame[rows, columns], keep, scale=1 / 255)


def glow(frame: Image, x: float, y: float, radius_px: float, colour: Colour) -> None:
    """Add a soft round light of this colour at a frame point."""
    radius = max(int(radius_px), 2)
    light = cv2.multiply(soft_disc(radius), (*colour, 0.0), scale=1 / 255)
    spot = Sprite(light, int(x) - radius, int(y) - radius)
    rows, columns, own_rows, own_columns = spot.clip(frame)
    if rows.stop > rows.start and columns.stop > columns.start:
        frame[rows, columns] = cv2.add(frame[rows, columns], light[own_rows, own_columns])


@lru_cache(maxsize=256)
def soft_disc(radius: int) -> Image:
    """White light that fades from the middle outwards, three channels."""
    ramp = np.linspace(-1, 1, 2 * radius + 1, dtype=np.float32)
    disc = np.clip(1 - np.sqrt(ramp[:, None] ** 2 + ramp[None, :] ** 2), 0, 1) ** 2
    white: Image = cv2.cvtColor((disc * 255).astype(np.uint8), cv2.COLOR_GRAY2BGR)
    return white
