"""A sampled picture on its way from a decoder to its place in the run."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import cast

import cv2

from operators.frame import Image


@dataclass(frozen=True, slots=True)
class Picture:
    """What a source yields: the image, when it was within the source, when it was decoded, and what that cost."""

    image: Image
    media_time_s: float
    captured_at: datetime
    decode_ms: float


def utc_now() -> datetime:
    """The wall clock, with its zone."""
    return datetime.now(UTC)


def thumbnail(image: Image, width: int = 160) -> Image:
    """Grey and small (``width`` pixels): the mean of samples spread over each cell, a tenth of a full mean's cost."""
    height = max(1, round(image.shape[0] * width / image.shape[1]))
    sparse = cv2.resize(image, (2 * width, 2 * height), interpolation=cv2.INTER_LINEAR)
    grey = cv2.cvtColor(sparse, cv2.COLOR_BGR2GRAY)
    return cast(Image, cv2.resize(grey, (width, height), interpolation=cv2.INTER_AREA))
