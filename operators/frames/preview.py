"""Smaller JPEGs of frames, for people."""

from __future__ import annotations

import cv2

from serving.common.tensors import Image


def preview(image: Image, max_width: int, quality: int) -> tuple[bytes, int, int]:
    """A JPEG no wider than ``max_width``, its width and height in pixels; raises ValueError. Call it in a thread."""
    if image.shape[1] > max_width:
        height = max(1, round(image.shape[0] * max_width / image.shape[1]))
        image = cv2.resize(image, (max_width, height), interpolation=cv2.INTER_AREA)
    encoded, data = cv2.imencode(".jpg", image, [cv2.IMWRITE_JPEG_QUALITY, quality])
    if not encoded:
        raise ValueError(f"an image of shape {image.shape} cannot become a JPEG")
    return bytes(data), image.shape[1], image.shape[0]
