"""The layout of a street before anything moves: camera, lanes, pavements and what stands there, all from one seed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from datasets.street.drawing.camera import Camera
from datasets.street.drawing.palette import between, chance, pick, scaled, varied
from datasets.street.drawing.sprite import Colour

Rng = np.random.Generator
LANE_M = 3.4
STYLES = ("town", "terrace", "offices", "park", "works")


@dataclass(frozen=True)
class Lane:
    """A line along the street that things follow; ``direction`` is +1 to the right, -1 to the left."""

    y: float
    direction: int
    speed_ms: float


@dataclass(frozen=True)
class Standing:
    """Something fixed on the ground at (x, y): tree, lamp, sign, bin, bench, shelter or a parked car."""

    kind: str
    x: float
    y: float
    seed: int


@dataclass(frozen=True)
class Layout:
    """One street. The y of its zones grows from the camera: near pavement, road, far pavement, fronts."""

    style: str
    camera: Camera
    near: tuple[float, float]
    road: tuple[float, float]
    far: tuple[float, float]
    front_y: float
    lanes: tuple[Lane, ...]
    standing: tuple[Standing, ...]
    sun: tuple[float, float, float]
    crossing_x: float | None
    asphalt: Colour
    paving: Colour
    clouds: bool
    seed: int

    @property
    def lamps(self) -> tuple[tuple[float, float, float], ...]:
        """Where the street lamps' lights hang."""
        return tuple((item.x, item.y + 1.0, 5.6) for item in self.standing if item.kind == "lamp")


def lay_out(seed: int, width: int, height: int, view: str = "above") -> Layout:
    """The street of this seed, seen in a picture of this size, from a pole or from the pavement (``eye-level``)."""
    rng = np.random.default_rng([seed, 1])
    style = pick(rng, STYLES)
    low = view == "eye-level"
    near_start = between(rng, 1.0, 6.0) if low else between(rng, 12.5, 15.0)
    near = (near_start, near_start + between(rng, 2.2, 3.2))
    lane_count = pick(rng, (2, 3, 4), (4, 2, 3))
    road = (near[1] + 0.2, near[1] + 0.2 + lane_count * LANE_M)
    far = (road[1] + 0.2, road[1] + between(rng, 2.8, 4.0))
    camera = aim_low(rng, width, height) if low else aim(rng, width, height, near[0])
    sun = np.array([between(rng, -0.9, 0.9), between(rng, -0.5, 0.25), 1.0])
    sun /= np.linalg.norm(sun)
    layout = Layout(
        style=style,
        camera=camera,
        near=near,
        road=road,
        far=far,
        front_y=far[1] + (between(rng, 3.0, 6.0) if style in ("park", "works") else 0.4),
        lanes=road_lanes(rng, road[0], lane_count),
        standing=(),
        sun=(float(sun[0]), float(sun[1]), float(sun[2])),
        crossing_x=between(rng, -3, 8) if chance(rng, 0.4) else None,
        asphalt=scaled((122, 120, 118), between(rng, 0.82, 1.16)),
        paving=varied(rng, pick(rng, ((164, 170, 174), (152, 162, 176), (146, 148, 150))), 12),
        clouds=chance(rng, 0.4),
        seed=seed,
    )
    return Layout(**{**layout.__dict__, "standing": furnish(rng, layout)})


def aim(rng: Rng, width: int, height: int, near_y: float) -> Camera:
    """A camera on a pole or house that sees the street from the near pavement to the roofs."""
    camera_height, focal = between(rng, 5.4, 7.8), between(rng, 0.92, 1.1)
    yaw = np.radians(between(rng, -24, 24))
    half_view = np.arctan(0.5 * height / width / focal)
    pitch = np.arctan(camera_height / (near_y - 1.8)) - half_view
    return Camera(width, height, camera_height, float(yaw), float(pitch), focal)


def aim_low(rng: Rng, width: int, height: int) -> Camera:
    """A camera that somebody holds, or on a dashboard: it looks across the street or along it."""
    yaw, pitch = np.radians(between(rng, -68, 68)), np.radians(between(rng, -3, 6))
    return Camera(width, height, between(rng, 0.9, 2.4), float(yaw), float(pitch), between(rng, 0.8, 1.25))


def road_lanes(rng: Rng, start: float, count: int) -> tuple[Lane, ...]:
    """The lanes, the near half one way and the far half the other, or all one way."""
    keep_right = 1 if chance(rng, 0.7) else -1
    split = count if chance(rng, 0.12) else (count + 1) // 2
    return tuple(
        Lane(start + (index + 0.5) * LANE_M, keep_right if index < split else -keep_right, between(rng, 8.0, 13.0))
        for index in range(count)
    )


def furnish(rng: Rng, layout: Layout) -> tuple[Standing, ...]:
    """Trees, lamps and clutter along both kerbs, spread over what the camera sees."""
    items: list[Standing] = []
    near_kerb, far_kerb = layout.near[1] - 0.35, layout.far[0] + 0.4

    def along(kind: str, y: float, gap: float, share: float = 1.0) -> None:
        low, high = layout.camera.span_m(y)
        x = low - between(rng, 0, gap)
        while x < min(high, low + 90) + 3:
            if rng.random() < share:
                items.append(Standing(kind, x + float(rng.normal(0, 0.6)), y, int(rng.integers(1 << 30))))
            x += gap * between(rng, 0.85, 1.2)

    along("lamp", far_kerb, between(rng, 15, 20))
    along("tree", far_kerb + 0.5, between(rng, 8, 14), {"park": 0.9, "terrace": 0.6}.get(layout.style, 0.35))
    along("tree", near_kerb, between(rng, 14, 20), 0.45)
    along("sign", near_kerb, 17, 0.5)
    along("bin", layout.far[1] - 0.6, 11, 0.5)
    along("bench", layout.far[1] - 0.9, 13, 0.4)
    along("bollard", near_kerb + 0.1, 3.2, 0.25)
    along("planter", layout.far[1] - 0.7, 9, 0.4)
    if chance(rng, 0.35):
        low, high = layout.camera.span_m(far_kerb)
        items.append(Standing("shelter", between(rng, low * 0.4, high * 0.5), layout.far[1] - 1.0, 0))
    if layout.style in ("town", "terrace") and chance(rng, 0.5):
        along("parked", layout.front_y - 1.4 if layout.far[1] - layout.far[0] > 3.4 else layout.far[1] - 1.2, 9, 0.35)
    return tuple(items)
