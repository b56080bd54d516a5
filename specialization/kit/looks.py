"""Other looks at a crop, as other cameras, distances and codecs might show it."""

from __future__ import annotations

import math

import cv2
import numpy as np
from numpy.random import Generator

from serving.common.tensors import Image


def nudge(image: Image, rng: Generator) -> Image:
    """Mirrored or not, and cut by up to a tenth on every side: for pictures that were augmented before."""
    height, width = image.shape[:2]
    left, top, right, bottom = (int(length * rng.uniform(0, 0.1)) for length in (width, height, width, height))
    cut = image[top : height - bottom, left : width - right]
    return np.ascontiguousarray(cut[:, ::-1]) if rng.random() < 0.5 else cut


def degrade(image: Image, rng: Generator) -> Image:
    """Few pixels, soft focus, a moving object, noise, a codec."""
    if rng.random() < 0.5:
        side = math.exp(rng.uniform(math.log(18), math.log(96)))
        scale = min(1.0, side / max(image.shape[:2]))
        size = tuple(max(4, round(length * scale)) for length in image.shape[1::-1])
        image = cv2.resize(image, size, interpolation=cv2.INTER_AREA)
    if rng.random() < 0.3:
        image = cv2.GaussianBlur(image, (0, 0), rng.uniform(0.3, 1.2))
    if rng.random() < 0.1:
        image = cv2.blur(image, (int(rng.integers(2, 6)), 1))
    if rng.random() < 0.3:
        noise = rng.normal(0, rng.uniform(2, 10), image.shape)
        image = np.clip(image + noise, 0, 255).astype(np.uint8)
    if rng.random() < 0.5:
        _, data = cv2.imencode(".jpg", image, [cv2.IMWRITE_JPEG_QUALITY, int(rng.integers(20, 95))])
        image = np.asarray(cv2.imdecode(data, cv2.IMREAD_COLOR), np.uint8)
    return image
