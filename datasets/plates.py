"""Photos of plates: 120 classes that differ by shape, colour and letter, drawn as cameras would show them.

A class is one of four shapes, three colours and ten letters; some are much alike. The same state of the random
generator gives the same pictures.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from functools import lru_cache
from itertools import product

import cv2
import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

Image = NDArray[np.uint8]
"""Height × width × 3, blue-green-red."""
Colour = tuple[float, float, float]

SIDE = 64
"""Pixels of a photo on each side."""
LEAST_SIDE = 28
"""The fewest pixels of it that a camera may have seen."""
PLATE_SIDE = 72
FONT = cv2.FONT_HERSHEY_SIMPLEX
SHAPES: Mapping[str, tuple[int, float, float, float]] = {
    "round": (32, 0.0, 0.94, 0.0),
    "square": (4, math.pi / 4, 1.1, 0.0),
    "triangle": (3, 0.0, 1.12, 0.2),
    "diamond": (4, 0.0, 1.0, 0.0),
}
"""Corners, turn from one corner up, radius and how far below the middle, as shares of half a plate's side."""
COLOURS: Mapping[str, tuple[Colour, Colour]] = {
    "red": ((52, 44, 186), (238, 238, 238)),
    "blue": ((172, 92, 34), (238, 238, 238)),
    "yellow": ((40, 186, 226), (24, 24, 24)),
}
"""Colours of the plate, and of its letter and rim."""
LETTERS = "ABEFHKPR38"
CLASSES = tuple("-".join(parts) for parts in product(SHAPES, COLOURS, LETTERS))


def pictures(rng: Generator, labels: Iterable[int]) -> list[Image]:
    """One photo (64 × 64) for each label, an index into ``CLASSES``."""
    return [photo(plate(label), rng) for label in labels]


@lru_cache(len(CLASSES))
def plate(label: int) -> Image:
    """The plate of a class from the front: 72 × 72 × 4, blue-green-red and how much of a pixel it covers."""
    shape, colour, letter = CLASSES[label].split("-")
    ground, ink = COLOURS[colour]
    drawn = np.zeros((PLATE_SIDE, PLATE_SIDE, 4), np.uint8)
    for rim, paint in ((0.0, ink), (0.12, ground)):
        cv2.fillPoly(drawn, [_outline(shape, rim)], (*paint, 255), cv2.LINE_AA)
    scale, thickness, low = (0.9, 3, 0.63) if shape == "triangle" else (1.45, 5, 0.5)
    (width, height), _ = cv2.getTextSize(letter, FONT, scale, thickness)
    origin = (round(PLATE_SIDE / 2 - width / 2), round(PLATE_SIDE * low + height / 2))
    cv2.putText(drawn, letter, origin, FONT, scale, (*ink, 255), thickness, cv2.LINE_AA)
    drawn.flags.writeable = False
    return drawn


def photo(front: Image, rng: Generator) -> Image:
    """A plate (height × width × 4) somewhere outdoors: 64 × 64 × 3, at an angle, in some light, by some camera."""
    scene = _backdrop(rng)
    placed = cv2.warpPerspective(front, _view(rng, front.shape[0]), (SIDE, SIDE), flags=cv2.INTER_LINEAR)
    cover = cv2.merge([placed[..., 3]] * 3).astype(np.float32) * np.float32(1 / 255)
    scene += (placed[..., :3] - scene) * cover
    side = round(math.exp(rng.uniform(math.log(LEAST_SIDE), math.log(SIDE))))
    small = cv2.resize(scene, (side, side), interpolation=cv2.INTER_AREA)
    return _seen(_lit(small, rng), rng)


def _outline(shape: str, rim: float) -> NDArray[np.int32]:
    """The corners of a shape, smaller by a rim."""
    corners, turn, radius, low = SHAPES[shape]
    angles = np.arange(corners) * (2 * math.pi / corners) + turn - math.pi / 2
    points = (radius - rim) * np.column_stack([np.cos(angles), np.sin(angles)]) + (0, low)
    placed: NDArray[np.int32] = np.round((points + 1) * (PLATE_SIDE / 2)).astype(np.int32)
    return placed


def _backdrop(rng: Generator) -> NDArray[np.float32]:
    """A few patches of colour that run into each other."""
    coarse = rng.uniform(20, 230, (int(rng.integers(2, 7)), int(rng.integers(2, 7)), 1)).astype(np.float32)
    coarse = coarse * rng.uniform(0.6, 1.2, (1, 1, 3)).astype(np.float32)
    how = cv2.INTER_NEAREST if rng.random() < 0.4 else cv2.INTER_LINEAR
    scene: NDArray[np.float32] = cv2.resize(coarse, (SIDE, SIDE), interpolation=how)
    return scene


def _view(rng: Generator, side: int) -> NDArray[np.float32]:
    """Where the plate's pixels land: turned, nearer or farther, off the middle, seen from aside."""
    angle, radius = rng.normal(0, math.radians(9)), SIDE * rng.uniform(0.33, 0.5)
    cos, sin = math.cos(angle), math.sin(angle)
    square = np.array([(-1, -1), (1, -1), (1, 1), (-1, 1)], np.float32)
    corners = square @ np.array([(cos, sin), (-sin, cos)]) * (rng.uniform(0.75, 1), rng.uniform(0.85, 1))
    corners = (corners + rng.uniform(-0.12, 0.12, (4, 2))) * radius + SIDE / 2 + rng.uniform(-5, 5, 2)
    before = (square + 1) * (side / 2)
    view: NDArray[np.float32] = cv2.getPerspectiveTransform(before.astype(np.float32), corners.astype(np.float32))
    return view


def _lit(scene: NDArray[np.float32], rng: Generator) -> NDArray[np.float32]:
    """Day or dusk, a tint, shade from one side, haze."""
    side = len(scene)
    ramp = np.arange(-1.0, 1.0, 2 / side, dtype=np.float32)[:side, None]
    down, right = rng.uniform(-0.35, 0.35, 2).astype(np.float32)
    light = (1 + down * ramp + right * ramp.T)[..., None]
    haze = rng.uniform(0, 0.25)
    tint = rng.uniform(0.82, 1.18, 3) * math.exp(rng.uniform(-0.9, 0.25)) * (1 - haze)
    lit: NDArray[np.float32] = scene * light * tint.astype(np.float32) + np.float32(rng.uniform(40, 200) * haze)
    return lit


def _seen(scene: NDArray[np.float32], rng: Generator) -> Image:
    """Out of focus, moving, noisy, compressed, and then 64 × 64."""
    if rng.random() < 0.3:
        scene = cv2.GaussianBlur(scene, (0, 0), rng.uniform(0.4, 0.9))
    if rng.random() < 0.2:
        scene = cv2.blur(scene, (int(rng.integers(2, 4)), 1))
    scene += rng.standard_normal(scene.shape, np.float32) * np.float32(rng.uniform(1, 9))
    image: Image = np.clip(scene, 0, 255).astype(np.uint8)
    if rng.random() < 0.7:
        _, data = cv2.imencode(".jpg", image, [cv2.IMWRITE_JPEG_QUALITY, int(rng.integers(35, 92))])
        image = np.asarray(cv2.imdecode(data, cv2.IMREAD_COLOR), np.uint8)
    whole: Image = cv2.resize(image, (SIDE, SIDE), interpolation=cv2.INTER_LINEAR)
    return whole
