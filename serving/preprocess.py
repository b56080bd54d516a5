"""Pixels to network input, with cv2 and numpy, and the geometry that leads boxes back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import cv2
import numpy as np
from numpy.typing import NDArray

from serving.catalogue.cards import ImageInput

Pixels = NDArray[np.uint8]


class Scalable(Protocol):
    """A picture that is scaled down in the form in which a decoder gave it."""

    @property
    def shape(self) -> tuple[int, int, int]:
        """Height, width, and the number of colours."""

    @property
    def bgr(self) -> Pixels:
        """The picture as blue, green and red."""

    def scaled(self, width: int, height: int) -> Pixels:
        """The picture at another size as blue, green and red."""


COARSE = 4
"""From so many times the wanted width and height on an image is halved first, which saves a third of the time."""


@dataclass(frozen=True, slots=True)
class Placement:
    """How an image lies in the network's input: ``input = image × scale + offset``, in pixels of either."""

    scale_x: float
    scale_y: float
    offset_x: float
    offset_y: float
    width: int
    """The image's size."""
    height: int

    def to_image(self, boxes: NDArray[np.floating[Any]]) -> NDArray[np.float32]:
        """K × 4 corners in input pixels → shares of the image, clipped to 0…1."""
        corners = self.points_to_image(boxes.reshape(-1, 2, 2)).reshape(-1, 4)
        return np.clip(corners, 0.0, 1.0)

    def points_to_image(self, points: NDArray[np.floating[Any]]) -> NDArray[np.float32]:
        """… × 2 points in input pixels → shares of the image, which may lie outside of it."""
        size = self.scale_x * self.width, self.scale_y * self.height
        return np.asarray((points - (self.offset_x, self.offset_y)) / size, np.float32)


def place(size: ImageInput, width: int, height: int) -> Placement:
    """Where an image of this size goes in the network's input."""
    across, down = size.width / width, size.height / height
    if size.resize == "stretch":
        return Placement(across, down, 0.0, 0.0, width, height)
    if size.resize == "letterbox":
        scale = min(across, down)
        return Placement(scale, scale, 0.0, 0.0, width, height)
    scale = max(across, down)
    return Placement(scale, scale, (size.width - width * scale) / 2, (size.height - height * scale) / 2, width, height)


def batch(size: ImageInput, images: Sequence[Pixels | Scalable]) -> tuple[NDArray[Any], list[Placement]]:
    """Images (height × width × 3, BGR) → N × 3 × H × W float32 (or as the card says), and how each was placed."""
    out = np.empty((len(images), *size.item_shape), np.dtype(size.dtype))
    placements = [place(size, image.shape[1], image.shape[0]) for image in images]
    for row, image, placement in zip(out, images, placements, strict=True):
        _write(size, _resized(size, image, placement), row)
    return out, placements


def from_bytes(size: ImageInput, pictures: NDArray[np.uint8]) -> NDArray[Any]:
    """Pictures (N × any H × any W × 3) as ``batch`` makes them for bytes → the input that it makes for ``size``.

    Bit for bit the same: what is sent as bytes is normalised here.
    """
    items, height, width, _ = pictures.shape
    shape = (items, 3, height, width) if size.layout == "nchw" else pictures.shape
    out = np.empty(shape, np.dtype(size.dtype))
    for row, picture in zip(out, pictures, strict=True):
        _normalise(size, cv2.split(picture), row)
    return out


def _resized(size: ImageInput, image: Pixels | Scalable, placement: Placement) -> NDArray[Any]:
    if not isinstance(image, np.ndarray):
        image = _shrunk(size, image, placement)
    if size.resize == "letterbox":
        width, height = _filled(placement)
        canvas = np.full((size.height, size.width, 3), size.pad, np.uint8)
        _scale(_coarse(image, size.detail), canvas[:height, :width])
        return canvas
    scaled = np.empty((size.height, size.width, 3), np.uint8)
    _scale(_coarse(_middle(size, image, placement), size.detail), scaled)
    return scaled


def _shrunk(size: ImageInput, picture: Scalable, placement: Placement) -> Pixels:
    """The picture at the size in which the network sees it, where that is smaller; what is still to be done remains."""
    width, height = _filled(placement)
    smaller = width <= placement.width and height <= placement.height
    if size.resize == "crop" or size.detail is not None or not smaller:
        return picture.bgr
    return picture.scaled(width, height)


def _filled(placement: Placement) -> tuple[int, int]:
    """Width and height of the image in the network's input."""
    scales = (placement.scale_x, placement.scale_y)
    return max(1, round(placement.width * scales[0])), max(1, round(placement.height * scales[1]))


def _coarse(image: Pixels, detail: int | None) -> Pixels:
    """With at most so many pixels either way, each the mean of those it stands for; smaller pictures stay the same."""
    height, width = image.shape[:2]
    if detail is None or max(width, height) <= detail:
        return image
    averaged = cv2.resize(image, (min(width, detail), min(height, detail)), interpolation=cv2.INTER_AREA)
    return np.asarray(averaged, np.uint8)


def _middle(size: ImageInput, image: Pixels, placement: Placement) -> Pixels:
    """The part that a crop keeps; all where the image is stretched. Cut before scaling: a sliver would become huge."""
    left, top = round(-placement.offset_x / placement.scale_x), round(-placement.offset_y / placement.scale_y)
    width, height = round(size.width / placement.scale_x), round(size.height / placement.scale_y)
    left, top = min(left, placement.width - 1), min(top, placement.height - 1)
    return image[top : top + max(1, height), left : left + max(1, width)]


def _scale(image: Pixels, target: Pixels) -> None:
    # Area averaging keeps small things visible where the image shrinks a lot; elsewhere two neighbours are enough.
    height, width = target.shape[:2]
    shrinks = width * 2 < image.shape[1] and height * 2 < image.shape[0]
    cv2.resize(
        halved(image, width, height),
        (width, height),
        target,
        interpolation=cv2.INTER_AREA if shrinks else cv2.INTER_LINEAR,
    )


def halved(image: Pixels, width: int, height: int) -> Pixels:
    """The image at half its size, or half of that, as long as it is far larger than wanted: grey or colour.

    Each pixel is the mean of four. Area averaging of what is left then gives nearly what it would have given at once.
    """
    while image.shape[1] >= COARSE * width and image.shape[0] >= COARSE * height:
        image = cv2.resize(image, (image.shape[1] // 2, image.shape[0] // 2), interpolation=cv2.INTER_AREA)
    return image


def _write(size: ImageInput, image: NDArray[Any], row: NDArray[Any]) -> None:
    """Normalise one resized image into its row of the batch, plane by plane."""
    blue, green, red = cv2.split(image)
    _normalise(size, (red, green, blue) if size.colour == "rgb" else (blue, green, red), row)


def _normalise(size: ImageInput, channels: Sequence[NDArray[Any]], row: NDArray[Any]) -> None:
    """The three colours, in the order of the input, into one row of the batch."""
    planes = row if size.layout == "nchw" else np.moveaxis(row, -1, 0)
    for target, channel, mean, std in zip(planes, channels, size.mean, size.std, strict=True):
        if size.dtype == "uint8" or (size.scale == std and mean == 0):
            target[:] = channel
        else:
            np.multiply(channel, size.scale / std, out=target, dtype=np.float32)
            target -= mean / std
