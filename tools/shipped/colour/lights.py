"""The light that a picture is taken in, and what a camera makes of it: exposure, balance, contrast, saturation."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.random import Generator

from serving.common.tensors import Image

WARM = (0.62, 0.85, 1.0)
"""Blue, green and red of street lamps that leave colours to be seen."""
SODIUM = ((0.08, 0.25), (0.5, 0.68))
"""Blue and green beside the red of a sodium lamp, from … to: all things are of one hue."""


def exposed(image: Image, rng: Generator) -> Image:
    """Day as cameras show it: too light or too dark, off balance, pale or gaudy."""
    pixels = image.astype(np.float32)
    balance = np.exp(rng.normal(0, (0.07, 0.03, 0.07)))
    pixels *= (balance * np.exp(rng.normal(0.05, 0.18))).astype(np.float32)
    grey = pixels.mean(axis=2, keepdims=True)
    pixels = grey + (pixels - grey) * rng.uniform(0.55, 1.4)
    middle = float(pixels.mean())
    pixels = (pixels - middle) * rng.uniform(0.75, 1.45) + middle + rng.uniform(-12, 25)
    return _clipped(pixels)


def at_night(image: Image, rng: Generator) -> Image:
    """Dark, in the light of lamps by which colours can be told, with glare, grain and a cast of signs near by."""
    share = rng.uniform(0, 1)
    lamp = np.array(WARM) * share + (1 - share) * np.exp(rng.normal(0, 0.1, 3))
    pixels = image.astype(np.float32) * (lamp * rng.uniform(0.35, 0.85)).astype(np.float32)
    pixels += np.array(rng.uniform(0, (40, 12, 24)), np.float32) * rng.uniform(0, 1)
    return _grainy(_glaring(_clipped(pixels), rng), rng)


def under_sodium(image: Image, rng: Generator) -> Image:
    """In the light of one hue: no colour can be told."""
    brightness = image.astype(np.float32) @ np.array((0.15, 0.45, 0.4), np.float32)
    hue = np.array([rng.uniform(*part) for part in SODIUM] + [1.0], np.float32)
    rest = image.astype(np.float32) * rng.uniform(0, 0.06)
    pixels = brightness[..., None] * hue * rng.uniform(0.4, 1.3) + rest
    return _grainy(_glaring(_clipped(pixels), rng), rng)


def without_colour(image: Image, rng: Generator) -> Image:
    """As a camera shows it by infrared, or a black-and-white one: grey, or all in one faint tint."""
    grey = cv2.cvtColor(image, cv2.COLOR_BGR2GRAY).astype(np.float32)[..., None]
    tint = np.exp(rng.normal(0, 0.1, 3)) if rng.random() < 0.4 else np.ones(3)
    return _clipped(((grey - 128) * rng.uniform(0.7, 1.3) + 128 + rng.uniform(-40, 30)) * tint.astype(np.float32))


def _glaring(image: Image, rng: Generator) -> Image:
    """Headlamps that shine at the camera, or tail lamps."""
    if rng.random() < 0.5:
        return image
    height, width = image.shape[:2]
    pixels, colour = image.astype(np.float32), (210, 240, 255) if rng.random() < 0.6 else (60, 50, 255)
    rows, columns = np.mgrid[:height, :width]
    y = height * rng.uniform(0.5, 0.85)
    for x in (width * rng.uniform(0.1, 0.4), width * rng.uniform(0.6, 0.9)):
        reach = max(width, height) * rng.uniform(0.04, 0.12)
        light = np.exp(-((columns - x) ** 2 + (rows - y) ** 2) / (2 * reach**2))
        pixels += light[..., None] * np.array(colour, np.float32)
    return _clipped(pixels)


def _grainy(image: Image, rng: Generator) -> Image:
    return _clipped(image + rng.normal(0, rng.uniform(2, 9), image.shape))


def _clipped(pixels: np.ndarray[tuple[int, ...], np.dtype[np.floating]]) -> Image:
    clipped: Image = np.clip(pixels, 0, 255).astype(np.uint8)
    return clipped
