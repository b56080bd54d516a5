"""What operators work on: a decoded frame and the regions found in it."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

import numpy as np

from operators.wire.schema import Attribute
from serving.common.tensors import Image


@dataclass(frozen=True, slots=True)
class Frame:
    """One sampled frame of a stream. ``seq`` counts from 0, unbroken within ``run``."""

    stream: str
    run: str
    seq: int
    image: Image
    media_time_s: float
    captured_at: datetime
    decode_ms: float = 0.0

    @property
    def width(self) -> int:
        """Pixels."""
        return int(self.image.shape[1])

    @property
    def height(self) -> int:
        """Pixels."""
        return int(self.image.shape[0])


@dataclass(frozen=True, slots=True)
class Box:
    """Corners relative to the frame, 0…1, origin top left; ``x_min < x_max`` and ``y_min < y_max``."""

    x_min: float
    y_min: float
    x_max: float
    y_max: float

    @property
    def area(self) -> float:
        """Share of the frame, 0…1."""
        return max(0.0, self.x_max - self.x_min) * max(0.0, self.y_max - self.y_min)

    def pixels(self, width: int, height: int) -> tuple[int, int, int, int]:
        """``(left, top, right, bottom)`` clipped to the image, at least one pixel wide and high."""
        left = min(max(int(self.x_min * width), 0), width - 1)
        top = min(max(int(self.y_min * height), 0), height - 1)
        right = min(max(int(np.ceil(self.x_max * width)), left + 1), width)
        bottom = min(max(int(np.ceil(self.y_max * height)), top + 1), height)
        return left, top, right, bottom

    def crop(self, image: Image) -> Image:
        """The pixels inside, a view."""
        left, top, right, bottom = self.pixels(image.shape[1], image.shape[0])
        return image[top:bottom, left:right]


Landmarks = tuple[tuple[float, float], ...]
"""The five points of a face that ``operators.frames.alignment`` names, shares of the frame; they may lie outside."""

WHOLE = Box(0.0, 0.0, 1.0, 1.0)
"""The frame itself."""


@dataclass(slots=True)
class Region:
    """An object of a frame while operators work on it: track sets ``track_id``, recognise appends to ``attributes``."""

    id: int
    """Unique within the frame."""
    node: str
    """The detect node that found it."""
    box: Box
    label: str
    confidence: float
    class_agnostic: bool = False
    """Whether the detector gives no names, so that the recognisers' answer names the object."""
    parent_id: int | None = None
    landmarks: Landmarks | None = None
    """Where the points of a face lie; None: the detector does not tell them."""
    age_s: float | None = None
    """Media time since the detector found it, where flow has moved it since; None: found on this frame."""
    track_id: int | None = None
    attributes: list[Attribute] = field(default_factory=list)
    zones: tuple[str, ...] | None = None
    """Names of the zones that hold its point; None: the stream has none."""
