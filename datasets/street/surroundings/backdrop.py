"""The still part of the picture: sky, fronts, pavement, road, found by following each pixel's ray to what it hits."""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from datasets.street.drawing.sprite import Colour, Image
from datasets.street.surroundings.fronts import PX_PER_M, TOP_M, draw_fronts
from datasets.street.surroundings.ground import ground_colours
from datasets.street.surroundings.layout import Layout
from datasets.street.surroundings.light import LAMP_GAIN, Light

Plane = NDArray[np.float32]
Mask = NDArray[np.bool_]
Rng = np.random.Generator
SUPERSAMPLE = 2
# Rows of distant things from far to near: colour, and how high they reach (sine of elevation).
DISTANCE: tuple[tuple[Colour, float], ...] = (
    ((206, 202, 190), 0.1),
    ((184, 184, 172), 0.065),
    ((134, 158, 138), 0.022),
)


@dataclass(frozen=True)
class Backdrop:
    """The street without things on it, kept so that any light can be put on it."""

    picture: Plane  # H×W×3, daylight colours; black in the sky
    lights: Plane  # H×W×3, what shines by itself at night
    lamp: Plane  # H×W, how much of the street lamps' light falls here
    sky: Plane  # H×W, share of sky
    elevation: Plane  # H×W, 0 at the horizon … 1 high up
    clouds: Plane  # H×W, share of cloud

    def graded(self, light: Light) -> Image:
        """The picture in this light."""
        lamp = self.lamp[..., None] * (np.array(LAMP_GAIN, np.float32) * light.lamps)
        gain = np.array(light.ambient, np.float32) + lamp
        low, top = np.array(light.sky_low, np.float32), np.array(light.sky_top, np.float32)
        heaven = low + (top - low) * self.elevation[..., None]
        heaven += (low * 0.5 + 125 * np.array(light.ambient, np.float32) - heaven) * self.clouds[..., None]
        shown: Plane = self.picture * gain + self.lights * light.lamps
        shown += heaven * self.sky[..., None]
        return np.clip(shown, 0, 255).astype(np.uint8)


@dataclass(frozen=True)
class Hits:
    """The plane that each pixel's ray meets first: the ground, or the upright plane of the house fronts."""

    rays: Plane
    on_ground: Mask
    ground_x: Plane
    ground_y: Plane
    front_x: Plane
    front_z: Plane


def build_backdrop(layout: Layout) -> Backdrop:
    """Look along every ray of the layout's camera."""
    rng = np.random.default_rng([layout.seed, 2])
    hits = follow(layout)
    picture, lights, solid = front_colours(rng, layout, hits)
    elevation = hits.rays[..., 2] / np.linalg.norm(hits.rays, axis=-1)
    near = hits.on_ground | solid
    sky = ~near
    far_off(rng, hits.rays, elevation, picture, sky)
    below = slice(int(np.argmax(hits.on_ground.any(axis=1))), None)
    ground = ground_colours(rng, layout, hits.ground_x[below], hits.ground_y[below])
    picture[below] = np.where(hits.on_ground[below][..., None], ground, picture[below])
    picture[sky] = 0
    lamp = np.where(near, lamplight(layout, hits), 0)
    size = (layout.camera.width, layout.camera.height)

    def small(plane: NDArray[np.generic]) -> Plane:
        shrunk: Plane = cv2.resize(np.asarray(plane, np.float32), size, interpolation=cv2.INTER_AREA)
        return shrunk

    height = small(np.clip(elevation * 4, 0, 1))
    return Backdrop(small(picture), small(lights), small(lamp), small(sky), height, small(cloud_cover(rng, hits.rays)))


def follow(layout: Layout) -> Hits:
    """Where the rays go."""
    camera = layout.camera
    rays = camera.rays(SUPERSAMPLE)
    to_front = layout.front_y / np.maximum(rays[..., 1], 1e-3)
    to_ground = camera.height_m / np.maximum(-rays[..., 2], 1e-3)
    ground_y = rays[..., 1] * to_ground
    return Hits(
        rays=rays,
        on_ground=(rays[..., 2] < 0) & (ground_y < layout.front_y),
        ground_x=np.asarray(rays[..., 0] * to_ground, np.float32),
        ground_y=np.asarray(ground_y, np.float32),
        front_x=np.asarray(rays[..., 0] * to_front, np.float32),
        front_z=np.asarray(camera.height_m + rays[..., 2] * to_front, np.float32),
    )


def front_colours(rng: Rng, layout: Layout, hits: Hits) -> tuple[Plane, Plane, Mask]:
    """Colours and lights of the fronts (H×W×3 each) and where there is one."""
    low, high = float(hits.front_x.min()) - 1, float(hits.front_x.max()) + 1
    fronts = draw_fronts(rng, layout.style, (max(low, -90.0), min(high, 90.0)))
    at_x, at_z = (hits.front_x - fronts.x0) * PX_PER_M, (TOP_M - hits.front_z) * PX_PER_M
    wall = cv2.remap(fronts.picture, at_x, at_z, cv2.INTER_LINEAR).astype(np.float32)
    lights = cv2.remap(fronts.lights, at_x, at_z, cv2.INTER_LINEAR).astype(np.float32)
    solid = (cv2.remap(fronts.solid, at_x, at_z, cv2.INTER_NEAREST) > 0) & ~hits.on_ground
    lights[~solid] = 0
    return wall, lights, solid


def far_off(rng: Rng, rays: Plane, elevation: Plane, picture: Plane, sky: Mask) -> None:
    """Paint distant roofs and trees into the part of the picture that is sky so far, and take it out of ``sky``."""
    azimuth = np.arctan2(rays[..., 0], rays[..., 1]) / np.pi + 0.5
    reached = np.zeros(azimuth.shape, np.float32)
    leaves = cv2.GaussianBlur(rng.normal(0, 1, (128, 512)).astype(np.float32), (0, 0), 2.2)
    at_x, at_y = np.mod(azimuth * 4000, 511).astype(np.float32), np.mod(elevation * 2500, 127).astype(np.float32)
    rough = cv2.remap(leaves, at_x, at_y, cv2.INTER_LINEAR)[..., None]
    for number, (colour, top) in enumerate(DISTANCE):
        heights = np.repeat(rng.uniform(top * 0.3, top, 120).astype(np.float32), rng.integers(2, 8, 120))
        here = heights[np.clip(azimuth * (len(heights) - 1), 0, len(heights) - 1).astype(int)]
        wooded = number == len(DISTANCE) - 1
        if wooded:
            here = here + 0.004 * np.abs(np.sin(azimuth * 260))
        covered = sky & (elevation < here)
        picture[covered] = np.array(colour) * (1 + 0.35 * wooded * rough[covered])
        reached = np.maximum(reached, here)
    sky &= elevation >= reached


def cloud_cover(rng: Rng, rays: Plane) -> Plane:
    """Share of cloud in the direction of each ray: soft heaps, drawn out sideways."""
    coarse = rng.normal(0, 1, (9, 14)).astype(np.float32)
    fine = cv2.resize(rng.normal(0, 0.5, (24, 36)).astype(np.float32), (280, 180), interpolation=cv2.INTER_CUBIC)
    heap = cv2.resize(coarse, (280, 180), interpolation=cv2.INTER_CUBIC) + fine
    at_x = (np.arctan2(rays[..., 0], rays[..., 1]) / np.pi + 0.5) * 279
    at_y = np.clip(0.75 - rays[..., 2], 0, 1) * 179
    cover = cv2.remap(heap, at_x.astype(np.float32), at_y.astype(np.float32), cv2.INTER_LINEAR)
    share: Plane = np.clip((cover - rng.uniform(-0.2, 0.8)) * 0.8, 0, 0.85).astype(np.float32)
    return share


def lamplight(layout: Layout, hits: Hits) -> Plane:
    """How much light of the street lamps falls on what each pixel shows, 0…1.2."""
    x = np.where(hits.on_ground, hits.ground_x, hits.front_x)
    y = np.where(hits.on_ground, hits.ground_y, np.float32(layout.front_y))
    z = np.where(hits.on_ground, np.float32(0), hits.front_z)
    total = np.zeros(x.shape, np.float32)
    for lamp_x, lamp_y, lamp_z in layout.lamps:
        total += 30.0 / ((x - lamp_x) ** 2 + (y - lamp_y) ** 2 + (z - lamp_z) ** 2 + 8.0)
    return np.minimum(total, 1.2)
