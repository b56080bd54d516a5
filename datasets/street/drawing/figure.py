"""Rounded things made of balls: people, riders, dogs. A blob is the hull of a few balls, seen from anywhere."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from datasets.street.drawing.sprite import Colour, Sprite

Points = NDArray[np.float64]
Ball = tuple[float, float, float, float]  # x forward, y left, z up, radius (metres)
_ANGLES = np.linspace(0, 2 * np.pi, 10, endpoint=False)
_CIRCLE = np.stack([np.cos(_ANGLES), np.sin(_ANGLES)], axis=1)


class Blob(NamedTuple):
    """The hull of some balls in one colour; blobs are painted in the order of their list."""

    colour: Colour
    balls: tuple[Ball, ...]


def limb(colour: Colour, radii: tuple[float, float], a: Sequence[float], b: Sequence[float]) -> Blob:
    """A tapered rod from point a to point b."""
    return Blob(colour, ((a[0], a[1], a[2], radii[0]), (b[0], b[1], b[2], radii[1])))


def balls_of(blobs: Sequence[Blob]) -> Points:
    """All balls, one row each (x, y, z, radius)."""
    return np.array([ball for blob in blobs for ball in blob.balls], float)


def paint(sprite: Sprite, blobs: Sequence[Blob], pixels: Points, radii_px: Points) -> None:
    """Paint the blobs whose balls were projected to these pixels (N×2) with these radii (N)."""
    rims = sprite.fixed((pixels[:, None, :] + _CIRCLE[None] * radii_px[:, None, None]).reshape(-1, 2))
    start = 0
    for blob in blobs:
        stop = start + len(blob.balls) * len(_CIRCLE)
        outline = rims[start:stop] if len(blob.balls) == 1 else cv2.convexHull(rims[start:stop])
        sprite.fill(outline, blob.colour)
        start = stop
