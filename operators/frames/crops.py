"""Cutting regions out of a frame for a network to look at, and laying faces upright, as networks that were trained on
aligned faces expect them. Pure.

Five landmarks are brought to fixed places in the network's input by the similarity transform of least squares (Umeyama,
1991). Landmarks are, in this order, the eye that lies left in the picture, the other, the tip of the nose, and the
corners of the mouth, left and right in the picture.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

import cv2
import numpy as np
from numpy.typing import NDArray

from operators.frames.frame import Box, Landmarks
from operators.frames.planes import Pixels
from operators.wire.corners import Corners
from serving.catalogue.cards import Alignment
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


def cut(image: Image, box: Corners, margin: float = 0.0) -> Crop[Image]:
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


Points = NDArray[np.float64]

_ARCFACE = [[38.2946, 51.6963], [73.5318, 51.5014], [56.0252, 71.7366], [41.5493, 92.3655], [70.7299, 92.2041]]
TEMPLATES: Mapping[Alignment, Points] = {"arcface": np.array(_ARCFACE) / 112}
"""5 × 2 places of the landmarks, shares of the input's width and height (Deng et al., 2019, whose input has 112²)."""
LEAST_SPREAD = 1.0
"""Pixels: landmarks closer to their centre than this, in the mean of squares, tell no direction."""
SHRINKS = 0.5
"""Pictures that become smaller than this are averaged first; a transform alone would skip pixels."""


def aligned(image: Image, landmarks: Landmarks, template: Alignment, width: int, height: int) -> Image | None:
    """Return the face laid upright, height × width × 3; None where the landmarks are none of a face in the picture.

    ``landmarks``: shares of the image. What the frame does not show is black.
    """
    points = np.asarray(landmarks, np.float64) * (image.shape[1], image.shape[0])
    if not _inside(points, image):
        return None
    transform = similarity(points, TEMPLATES[template] * (width, height))
    return None if transform is None else _warped(image, transform, width, height)


def similarity(points: Points, places: Points) -> Points | None:
    """The 2 × 3 matrix of the rotation, scale and shift that bring K × 2 points nearest to K × 2 places.

    Mirroring is no rotation (Umeyama, 1991, equations 39 to 42). None where the points lie at one place.
    """
    centre, goal = points.mean(axis=0), places.mean(axis=0)
    spread = float(((points - centre) ** 2).sum(axis=1).mean())
    if not spread >= LEAST_SPREAD**2:
        return None
    u, singular, vt = np.linalg.svd((places - goal).T @ (points - centre) / len(points))
    signs = np.array([1.0, np.sign(np.linalg.det(u @ vt)) or 1.0])
    rotation = (u * signs) @ vt * ((singular * signs).sum() / spread)
    return np.column_stack([rotation, goal - rotation @ centre])


def _inside(points: Points, image: Image) -> bool:
    """Whether all points are numbers and lie in the picture."""
    return bool((points >= 0).all() and (points <= (image.shape[1], image.shape[0])).all())


def _warped(image: Image, transform: Points, width: int, height: int) -> Image:
    scale = float(np.hypot(*transform[:, 0]))
    if scale < SHRINKS:
        image, transform = _part(image, transform, width, height)
        size = max(1, round(2 * scale * image.shape[1])), max(1, round(2 * scale * image.shape[0]))
        small = cv2.resize(image, size, interpolation=cv2.INTER_AREA)
        across, down = small.shape[1] / image.shape[1], small.shape[0] / image.shape[0]
        image, transform = small, transform / (across, down, 1)
    warped: Image = cv2.warpAffine(image, transform, (width, height), flags=cv2.INTER_LINEAR)
    return warped


def _part(image: Image, transform: Points, width: int, height: int) -> tuple[Image, Points]:
    """The part of the image that the transform shows, and the transform for it."""
    corners = np.array([[0, 0, 1], [width, 0, 1], [0, height, 1], [width, height, 1]], np.float64)
    shown = corners @ cv2.invertAffineTransform(transform).T
    size = image.shape[1], image.shape[0]
    left, top = np.clip(np.floor(shown.min(axis=0)), 0, size).astype(int)
    right, bottom = np.clip(np.ceil(shown.max(axis=0)), (left + 1, top + 1), size).astype(int)
    shift = transform[:, :2] @ (left, top)
    return image[top:bottom, left:right], transform + np.column_stack([np.zeros((2, 2)), shift])
