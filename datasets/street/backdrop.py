"""The still part of the picture: sky, fronts, pavement, road, found by following each pixel's ray to what it hits."""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from datasets.street.fronts import PX_PER_M, TOP_M, draw_fronts
from datasets.street.layout import LANE_M, Layout
from datasets.street.light import Light
from datasets.street.sprite import Image

Plane = NDArray[np.float32]
SUPERSAMPLE = 2


@dataclass(frozen=True)
class Backdrop:
    """The street without things on it, kept so that any light can be put on it."""

    picture: Plane  # H×W×3, daylight colours; black in the sky
    lights: Plane  # H×W×3, what shines by itself at night
    lamp: Plane  # H×W, how much of the street lamps' light falls here
    sky: Plane  # H×W, share of sky
    elevation: Plane  # H×W, 0 at the horizon … 1 high up

    def graded(self, light: Light) -> Image:
        """The picture in this light."""
        lamp_colour = np.array([0.5, 0.78, 1.0], np.float32) * (0.75 * light.lamps)
        gain = np.array(light.ambient, np.float32) + self.lamp[..., None] * lamp_colour
        low, top = np.array(light.sky_low, np.float32), np.array(light.sky_top, np.float32)
        heaven = low + (top - low) * self.elevation[..., None]
        shown: Plane = self.picture * gain + self.lights * light.lamps
        shown += heaven * self.sky[..., None]
        return np.clip(shown, 0, 255).astype(np.uint8)


def build_backdrop(layout: Layout) -> Backdrop:
    """Look along every ray of the layout's camera."""
    rng = np.random.default_rng([layout.seed, 2])
    camera = layout.camera
    rays = camera.rays(SUPERSAMPLE)
    to_front = layout.front_y / np.maximum(rays[..., 1], 1e-3)
    front_x, front_z = rays[..., 0] * to_front, camera.height_m + rays[..., 2] * to_front
    to_ground = camera.height_m / np.maximum(-rays[..., 2], 1e-3)
    ground_x, ground_y = rays[..., 0] * to_ground, rays[..., 1] * to_ground
    on_ground = (rays[..., 2] < 0) & (ground_y < layout.front_y)
    picture = np.zeros(rays.shape, np.float32)
    below = slice(int(np.argmax(on_ground.any(axis=1))), None)
    picture[below] = ground_colours(rng, layout, ground_x[below], ground_y[below])
    reach = min(float(front_x.min()) - 1, -5), max(float(front_x.max()) + 1, 5)
    fronts = draw_fronts(rng, layout.style, (max(reach[0], -90.0), min(reach[1], 90.0)))
    at_x = ((front_x - fronts.x0) * PX_PER_M).astype(np.float32)
    at_z = ((TOP_M - front_z) * PX_PER_M).astype(np.float32)
    wall = cv2.remap(fronts.picture, at_x, at_z, cv2.INTER_AREA)
    shining = cv2.remap(fronts.lights, at_x, at_z, cv2.INTER_AREA)
    solid = cv2.remap(fronts.solid, at_x, at_z, cv2.INTER_NEAREST) > 0
    elevation = rays[..., 2] / np.linalg.norm(rays, axis=-1)
    hills = (~on_ground) & (~solid) & (elevation < skyline(rng, rays))
    wall[~solid] = (170, 172, 164)
    picture = np.where(on_ground[..., None], picture, wall)
    sky = ~(on_ground | solid | hills)
    picture[sky] = 0
    lit = np.where((~on_ground & solid)[..., None], shining, 0)
    lamp = lamplight(layout, on_ground, ground_x, ground_y, front_x, front_z)
    lamp[sky] = 0

    def small(plane: NDArray[np.generic]) -> Plane:
        size = (camera.width, camera.height)
        shrunk: Plane = cv2.resize(np.asarray(plane, np.float32), size, interpolation=cv2.INTER_AREA)
        return shrunk

    return Backdrop(small(picture), small(lit), small(lamp), small(sky), small(np.clip(elevation * 4, 0, 1)))


def ground_colours(rng: np.random.Generator, layout: Layout, x: Plane, y: Plane) -> Plane:
    """Colours (H×W×3) of the ground at these points: verge, pavements with slabs, kerbs, road with lines."""
    cloudy, grain = texture(rng, x, y, 3.0), texture(rng, x, y, 40.0)
    road = (y > layout.road[0]) & (y < layout.road[1])
    base = np.empty((*x.shape, 3), np.float32)
    base[:] = layout.paving
    base[road] = layout.asphalt
    verge = (y < layout.near[0]) | (y > layout.far[1])
    base[verge] = (84, 132, 112) if layout.style in ("park", "terrace") else np.array(layout.paving) * 0.9
    slabs = ~road & ~verge & ((np.mod(x, 0.9) < 0.045) | (np.mod(y, 0.9) < 0.045))
    base[slabs] *= 0.84
    across = np.mod(y - layout.road[0], LANE_M) / LANE_M
    worn = road & ((np.abs(across - 0.28) < 0.1) | (np.abs(across - 0.72) < 0.1))
    base[worn] *= 0.94
    for edge in layout.road:
        base[np.abs(y - edge) < 0.13] = (176, 180, 182)
        gutter = road & (np.abs(y - edge) > 0.13) & (np.abs(y - edge) < 0.4)
        base[gutter] *= 0.86
    patches(rng, layout, base, x, y)
    base[road_marks(layout, x, y)] = (214, 216, 216)
    base *= (1 + 0.08 * cloudy + 0.06 * grain)[..., None]
    return np.clip(base, 0, 255)


def texture(rng: np.random.Generator, x: Plane, y: Plane, per_m: float) -> Plane:
    """Smooth noise in -2…2 with this many cells per metre, painted on the ground."""
    tile = rng.normal(0, 1, (256, 256)).astype(np.float32)
    if per_m < 10:
        tile = cv2.GaussianBlur(np.tile(tile, (3, 3)), (0, 0), 3)[256:512, 256:512]
        tile /= float(tile.std())
    at_x, at_y = np.mod(x * per_m, 255).astype(np.float32), np.mod(y * per_m, 255).astype(np.float32)
    noise: Plane = np.clip(cv2.remap(tile, at_x, at_y, cv2.INTER_LINEAR), -2, 2)
    return noise


def patches(rng: np.random.Generator, layout: Layout, base: Plane, x: Plane, y: Plane) -> None:
    """Repaired asphalt, oil stains and manhole covers, painted into ``base``."""
    road = (y > layout.road[0] + 0.2) & (y < layout.road[1] - 0.2)
    road_x, road_y, gain = x[road], y[road], np.ones(np.count_nonzero(road), np.float32)
    for _ in range(int(rng.integers(3, 9))):
        px, py = rng.uniform(-25, 25), rng.uniform(*layout.road)
        wide, deep = rng.uniform(0.5, 4), rng.uniform(0.4, 1.6)
        gain[(np.abs(road_x - px) < wide) & (np.abs(road_y - py) < deep)] *= rng.uniform(0.84, 1.1)
    for _ in range(4):
        px, py = rng.uniform(-20, 20), rng.uniform(layout.road[0] + 0.6, layout.road[1] - 0.6)
        gain[(road_x - px) ** 2 + (road_y - py) ** 2 < 0.16] *= 0.7
    base[road] *= gain[:, None]


def road_marks(layout: Layout, x: Plane, y: Plane) -> NDArray[np.bool_]:
    """Where the road is painted white: edge lines, dashes between lanes, a full line between directions, a crossing."""
    start, stop = layout.road
    marks = (np.abs(y - start - 0.5) < 0.06) | (np.abs(y - stop + 0.5) < 0.06)
    for index, (lane, following) in enumerate(zip(layout.lanes, layout.lanes[1:], strict=False)):
        line = np.abs(y - start - (index + 1) * LANE_M) < 0.07
        marks |= line if lane.direction != following.direction else line & (np.mod(x, 6.0) < 2.6)
    if layout.crossing_x is not None:
        on_crossing = (np.abs(x - layout.crossing_x) < 1.7) & (y > start + 0.3) & (y < stop - 0.3)
        marks = np.where(on_crossing, np.mod(y - start, 1.1) < 0.55, marks)
    painted: NDArray[np.bool_] = marks & (y > start) & (y < stop)
    return painted


def skyline(rng: np.random.Generator, rays: Plane) -> Plane:
    """Height of distant roofs (sine of elevation) in the direction of each ray."""
    heights: Plane = np.repeat(rng.uniform(0.0, 0.07, 90).astype(np.float32), rng.integers(2, 8, 90))
    azimuth = np.arctan2(rays[..., 0], rays[..., 1])
    index = ((azimuth + np.pi / 2) / np.pi * (len(heights) - 1)).astype(int)
    profile: Plane = heights[np.clip(index, 0, len(heights) - 1)]
    return profile


def lamplight(
    layout: Layout,
    on_ground: NDArray[np.bool_],
    ground_x: Plane,
    ground_y: Plane,
    front_x: Plane,
    front_z: Plane,
) -> Plane:
    """How much light of the street lamps falls on what each pixel shows, 0…1.2."""
    x = np.where(on_ground, ground_x, front_x)
    y = np.where(on_ground, ground_y, layout.front_y)
    z = np.where(on_ground, 0, front_z)
    total = np.zeros(x.shape, np.float32)
    for lamp_x, lamp_y, lamp_z in layout.lamps:
        square = (x - lamp_x) ** 2 + (y - lamp_y) ** 2 + (z - lamp_z) ** 2
        total += (30.0 / (square + 8.0)).astype(np.float32)
    return np.minimum(total, 1.2)
