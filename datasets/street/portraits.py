"""One vehicle alone, in a paint that is asked for: a picture with coverage, to be laid on any ground."""

from __future__ import annotations

from dataclasses import replace

import cv2
import numpy as np

from datasets.street.actors.cars import car
from datasets.street.actors.pickups import pickup
from datasets.street.actors.vans import minibus
from datasets.street.drawing.camera import Camera
from datasets.street.drawing.mesh import Mesh, Pose
from datasets.street.drawing.palette import between, pick
from datasets.street.drawing.sprite import SOLID, Colour, Image
from datasets.street.drawing.things import Solid

Rng = np.random.Generator
SIDE = 144
"""Pixels of the picture that the vehicle nearly fills."""


def portrait(rng: Rng, paint: Colour) -> Image:
    """A car, pickup or minibus from anywhere around it, in its own light: h × w × 4, premultiplied with coverage."""
    mesh = pick(rng, (car, pickup, minibus), (6, 2, 2))(rng, paint)
    distance_m, height_m, heading = between(rng, 8, 30), between(rng, 1.2, 9), between(rng, 0, 2 * np.pi)
    pitch = float(np.arctan2(height_m - 0.8, distance_m))
    camera = Camera(SIDE, SIDE, height_m, 0.0, pitch, 0.8 * distance_m / mesh.size[0])
    sprite = Solid(_lit(mesh, rng, heading)).draw(camera, Pose(0.0, distance_m, heading))
    assert sprite is not None  # it stands in the middle
    left, top, width, height = cv2.boundingRect((sprite.pixels[..., 3] >= SOLID).astype(np.uint8))
    return sprite.pixels[top : top + height, left : left + width]


def _lit(mesh: Mesh, rng: Rng, heading: float) -> Mesh:
    """In sun and shade; what faces the sky mirrors some of it, so that black is not black from above."""
    cos, sin = np.cos(heading), np.sin(heading)
    normals = mesh.normals @ np.array([[cos, sin, 0], [-sin, cos, 0], [0, 0, 1.0]])
    sun = np.append(rng.normal(size=2), between(rng, 0.4, 2.0))
    direct = np.clip(normals @ (sun / np.linalg.norm(sun)), 0, 1) * between(rng, 0.0, 0.5)
    gain = between(rng, 0.6, 0.85) + direct + 0.1 * normals[:, 2]
    sky = np.array([between(rng, 190, 245), between(rng, 195, 235), between(rng, 170, 230)])
    mirrored = np.clip(normals[:, 2], 0, 1) ** 2 * between(rng, 0.0, 0.4)
    colours = mesh.colours * gain[:, None] * (1 - mirrored[:, None]) + sky * mirrored[:, None]
    return replace(mesh, colours=np.clip(colours, 0, 255))
