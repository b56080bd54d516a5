"""The ground of the street, point by point: verge, pavements with slabs, kerbs, asphalt with its lines and scars."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from datasets.street.surroundings.layout import LANE_M, Layout

Plane = NDArray[np.float32]


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
