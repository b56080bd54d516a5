"""Makes one crop look like many: what cameras, distances, codecs and detectors do to an object."""

from __future__ import annotations

import math

import cv2
import numpy as np
from numpy.random import Generator

from serving.common.tensors import Image
from specialization.kit.features import degrade

MAX_SIDE = 128


def augment(image: Image, rng: Generator) -> Image:
    """A changed copy, of another size; what it shows stays what it is."""
    if rng.random() < 0.15:
        image = _cut(image, rng)
    image = _move(image, rng)
    image = _recolour(image, rng)
    if rng.random() < 0.15:
        image = _darken(image, rng)
    if rng.random() < 0.15:
        image = _cover(image, rng)
    return degrade(image, rng)


def _cut(image: Image, rng: Generator) -> Image:
    """Less of it: at a border of the frame, or behind one."""
    height, width = image.shape[:2]
    left, right, top, bottom = (rng.uniform(0.08, 0.35) * (rng.random() < 0.3) for _ in range(4))
    rows = slice(int(top * height), max(int(top * height) + 4, int((1 - bottom) * height)))
    columns = slice(int(left * width), max(int(left * width) + 4, int((1 - right) * width)))
    return image[rows, columns]


def _move(image: Image, rng: Generator) -> Image:
    """Turn, stretch, shift, mirror: a box that sits loosely or tightly, another angle, a view from above."""
    height, width = image.shape[:2]
    shrink = min(1.0, MAX_SIDE / max(height, width))
    out_w, out_h = max(8, round(width * shrink)), max(8, round(height * shrink))
    angle = rng.uniform(-math.pi, math.pi) if rng.random() < 0.08 else rng.normal(0, math.radians(6))
    zoom, aspect = math.exp(rng.uniform(-0.25, 0.2)), math.exp(rng.uniform(-0.15, 0.15))
    mirror = -1.0 if rng.random() < 0.5 else 1.0
    cos, sin = math.cos(angle), math.sin(angle)
    # Columns: where the picture's half axes land, in units of the output's half axes.
    unit = np.array([[cos, -sin], [sin, cos]]) @ np.diag([mirror * zoom * aspect, zoom / aspect])
    pixels = np.diag([out_w / 2, out_h / 2]) @ unit @ np.diag([2 / width, 2 / height])
    centre = np.array([out_w / 2, out_h / 2]) * (1 + rng.uniform(-0.15, 0.15, 2))
    shift = centre - pixels @ (width / 2, height / 2)
    if shrink < 0.5:
        image = cv2.blur(image, (int(1 / shrink),) * 2)
    moved: Image = cv2.warpAffine(
        image, np.column_stack([pixels, shift]), (out_w, out_h), flags=cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE
    )
    return moved


def _recolour(image: Image, rng: Generator) -> Image:
    """Other light, other paint, less colour."""
    pixels = image.astype(np.float32)
    if rng.random() < 0.1:
        pixels = pixels[..., rng.permutation(3)]
    grey = pixels.mean(axis=2, keepdims=True)
    saturation = 0.0 if rng.random() < 0.1 else rng.uniform(0.4, 1.4)
    pixels = grey + (pixels - grey) * saturation
    pixels *= rng.uniform(0.9, 1.1, 3).astype(np.float32)
    contrast, brightness = rng.uniform(0.6, 1.4), rng.uniform(-35, 35)
    mean = float(pixels.mean())
    pixels = (pixels - mean) * contrast + mean + brightness
    clipped: Image = np.clip(pixels, 0, 255).astype(np.uint8)
    return clipped


def _darken(image: Image, rng: Generator) -> Image:
    """Night: little light, of one colour, and a sensor that makes up for it."""
    light = rng.uniform(0.5, 1.1, 3) * rng.uniform(0.3, 0.8)
    bright = (image / 255.0) ** rng.uniform(1.0, 1.8) * 255
    noise = rng.normal(0, rng.uniform(1, 8), (*image.shape[:2], 1))
    dark: Image = np.clip(bright * light + rng.uniform(0, 25) + noise, 0, 255).astype(np.uint8)
    return dark


def _cover(image: Image, rng: Generator) -> Image:
    """Something stands in front."""
    height, width = image.shape[:2]
    w, h = (max(1, int(side * rng.uniform(0.1, 0.4))) for side in (width, height))
    left, top = int(rng.integers(0, width - w + 1)), int(rng.integers(0, height - h + 1))
    covered = image.copy()
    covered[top : top + h, left : left + w] = rng.integers(0, 256, 3)
    return covered
