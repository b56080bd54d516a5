"""The row of house fronts behind the far pavement, drawn flat: one picture for the day, one of the lights within."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from datasets.street.drawing.palette import between, chance, pick, scaled, varied
from datasets.street.drawing.sprite import Colour, Image

Rng = np.random.Generator
PX_PER_M = 24
TOP_M = 16.0
WALLS: dict[str, tuple[Colour, ...]] = {
    "town": ((178, 200, 216), (150, 176, 204), (196, 206, 210), (150, 168, 150), (170, 160, 190), (186, 196, 170)),
    "terrace": ((84, 104, 150), (96, 118, 160), (110, 130, 168), (150, 170, 190)),
    "offices": ((170, 168, 164), (140, 132, 126), (190, 196, 198), (120, 126, 134)),
    "park": ((120, 140, 150),),
    "works": ((150, 152, 150), (160, 150, 130), (120, 140, 160), (110, 120, 116)),
}
WARM: Colour = (120, 200, 246)


@dataclass
class Fronts:
    """Flat canvas whose row 0 is ``TOP_M`` above ground and whose column 0 is at ``x0`` metres."""

    x0: float
    picture: Image
    lights: Image
    solid: NDArray[np.uint8]

    def fill(self, x: tuple[float, float], z: tuple[float, float], colour: Colour, light: Colour | None = None) -> None:
        """A rectangle in metres, with the light it gives off at night."""
        left, right = (round((value - self.x0) * PX_PER_M) for value in x)
        top, bottom = (round((TOP_M - value) * PX_PER_M) for value in (z[1], z[0]))
        cv2.rectangle(self.picture, (left, top), (right - 1, bottom - 1), colour, -1)
        cv2.rectangle(self.solid, (left, top), (right - 1, bottom - 1), 255, -1)
        cv2.rectangle(self.lights, (left, top), (right - 1, bottom - 1), light or (0, 0, 0), -1)


def draw_fronts(rng: Rng, style: str, x: tuple[float, float]) -> Fronts:
    """The fronts of one street between these x."""
    size = (int(TOP_M * PX_PER_M), int((x[1] - x[0]) * PX_PER_M))
    fronts = Fronts(x[0], np.zeros((*size, 3), np.uint8), np.zeros((*size, 3), np.uint8), np.zeros(size, np.uint8))
    if style == "park":
        draw_park(fronts, rng, x)
        return fronts
    at = x[0]
    while at < x[1]:
        width = between(
            rng, *{"terrace": (5.0, 6.5), "town": (6.0, 11.0), "offices": (10.0, 18.0)}.get(style, (12, 24))
        )
        if not chance(rng, {"terrace": 0.03, "town": 0.06}.get(style, 0.15)):
            draw_house(fronts, rng, style, (at, min(at + width, x[1])))
        else:
            fronts.fill((at, min(at + width * 0.5, x[1])), (0, 1.8), varied(rng, (80, 110, 84)))
            width *= 0.5
        at += width
    grain = rng.normal(0, 3.5, (size[0] // 2, size[1] // 2)).astype(np.float32)
    grain = cv2.resize(grain, (size[1], size[0]))
    fronts.picture[:] = np.clip(fronts.picture + grain[..., None], 0, 255).astype(np.uint8)
    return fronts


class House(NamedTuple):
    """A building of a row."""

    style: str
    x: tuple[float, float]
    storey: float
    """The height of one."""
    wall: Colour


def draw_house(fronts: Fronts, rng: Rng, style: str, x: tuple[float, float]) -> None:
    """One building: wall, floors of windows, ground floor, roof edge."""
    storey = between(rng, 2.9, 3.4)
    floors = int(rng.integers(*{"terrace": (2, 3), "town": (2, 4), "offices": (3, 5)}.get(style, (1, 3))))
    top = min(storey * floors + between(rng, 0.3, 1.0), TOP_M - 1)
    wall = varied(rng, pick(rng, WALLS[style]), 18)
    house = House(style, x, storey, wall)
    fronts.fill(x, (0, top), wall)
    if style == "terrace" or (style == "town" and chance(rng, 0.4)):
        for course in np.arange(0.3, top, 0.3).tolist():
            fronts.fill(x, (course, course + 0.05), scaled(wall, 0.93))
    for floor in range(1 if style != "works" else 0, floors):
        window_row(fronts, rng, house, (floor * storey + 0.75, floor * storey + storey - 0.55))
    if style == "works":
        for at in np.arange(x[0], x[1], 0.5).tolist():
            fronts.fill((at, at + 0.06), (0, top), scaled(wall, 0.9))
        door = between(rng, x[0] + 1, max(x[1] - 5, x[0] + 1.1))
        fronts.fill((door, min(door + 3.6, x[1])), (0, 3.4), varied(rng, (110, 96, 80), 30))
    else:
        ground_floor(fronts, rng, house)
    fronts.fill((x[0], x[1]), (top - 0.3, top), scaled(wall, 0.75))
    if style == "terrace":
        fronts.fill(x, (top, top + 1.3), varied(rng, (70, 76, 96)))
        chimney = between(rng, x[0] + 0.5, max(x[1] - 1.0, x[0] + 0.6))
        fronts.fill((chimney, chimney + 0.7), (top + 1.3, top + 2.0), scaled(wall, 0.85))
    fronts.fill((x[1] - 0.08, x[1]), (0, top), scaled(wall, 0.7))


def window_row(fronts: Fronts, rng: Rng, house: House, z: tuple[float, float]) -> None:
    """One floor's windows with frames, sills and here and there a light."""
    style, x, _, wall = house
    pitch = between(rng, 1.5, 2.0) if style == "offices" else between(rng, 1.9, 2.8)
    count = max(int((x[1] - x[0]) / pitch), 1)
    wide = (x[1] - x[0]) / count
    share = 0.86 if style == "offices" else between(rng, 0.4, 0.6)
    frame = varied(rng, (224, 226, 226)) if chance(rng, 0.7) else scaled(wall, 0.6)
    for index in range(count):
        left = x[0] + wide * (index + (1 - share) / 2)
        right = left + wide * share
        glass = varied(rng, (128, 108, 92), 26)
        light = varied(rng, scaled(WARM, between(rng, 0.45, 0.95))) if chance(rng, 0.35) else None
        fronts.fill((left - 0.08, right + 0.08), (z[0] - 0.08, z[1] + 0.08), frame)
        fronts.fill((left, right), z, glass, light)
        fronts.fill((left, right), (z[0] + (z[1] - z[0]) * 0.55, z[1]), scaled(glass, 1.22), light)
        fronts.fill(((left + right) / 2 - 0.03, (left + right) / 2 + 0.03), z, frame)
        fronts.fill((left - 0.15, right + 0.15), (z[0] - 0.18, z[0] - 0.08), scaled(wall, 0.8))


def ground_floor(fronts: Fronts, rng: Rng, house: House) -> None:
    """Shop window with awning, or a front door with a window."""
    style, x, storey, _ = house
    if style == "terrace" or chance(rng, 0.25):
        window_row(fronts, rng, house._replace(style="terrace", x=(x[0] + 1.6, x[1])), (0.9, storey - 0.6))
        door = varied(rng, pick(rng, ((60, 50, 130), (100, 70, 40), (60, 90, 50), (50, 50, 52))))
        fronts.fill((x[0] + 0.4, x[0] + 1.6), (0, 2.4), (220, 222, 222))
        fronts.fill((x[0] + 0.5, x[0] + 1.5), (0, 2.15), door)
        return
    colour = varied(rng, pick(rng, ((60, 60, 150), (110, 80, 40), (70, 110, 60), (60, 60, 62), (60, 150, 200))))
    fronts.fill((x[0] + 0.15, x[1] - 0.2), (0, storey - 0.1), scaled(colour, 0.8))
    glow = scaled(WARM, between(rng, 0.5, 1.0)) if chance(rng, 0.7) else None
    way_in = between(rng, x[0] + 0.5, max(x[1] - 2, x[0] + 0.6))
    for left, right in ((x[0] + 0.4, way_in - 0.1), (way_in + 1.2, x[1] - 0.4)):
        if right - left > 0.5:
            fronts.fill((left, right), (0.5, storey - 0.9), varied(rng, (118, 110, 104)), glow)
            fronts.fill((left, (left + right) / 2), (1.2, storey - 0.9), varied(rng, (140, 134, 124)), glow)
    fronts.fill((way_in, way_in + 1.05), (0, 2.1), scaled(colour, 0.55))
    fronts.fill((x[0] + 0.25, x[1] - 0.25), (storey - 0.75, storey - 0.15), varied(rng, colour), scaled(colour, 0.5))
    if chance(rng, 0.5):
        stripes = np.arange(x[0] + 0.3, x[1] - 0.6, 0.4).tolist()
        for index, at in enumerate(stripes):
            shade = (226, 228, 228) if index % 2 else colour
            fronts.fill((at, at + 0.4), (storey - 1.15, storey - 0.7), shade)


def draw_park(fronts: Fronts, rng: Rng, x: tuple[float, float]) -> None:
    """A hedge with a railing, and tree crowns behind it."""
    for _ in range(int((x[1] - x[0]) * 1.3)):
        middle, radius = between(rng, *x), between(rng, 0.8, 2.2)
        centre = (int((middle - x[0]) * PX_PER_M), int((TOP_M - between(rng, 1.5, 6.5)) * PX_PER_M))
        colour = varied(rng, (62, 118, 84), 24)
        cv2.circle(fronts.picture, centre, int(radius * PX_PER_M), colour, -1, cv2.LINE_AA)
        cv2.circle(fronts.solid, centre, int(radius * PX_PER_M), 255, -1)
    fronts.fill(x, (0, 1.5), (60, 106, 76))
    for at in np.arange(x[0], x[1], 0.22).tolist():
        fronts.fill((at, at + 0.13), (0, 1.3 + 0.25 * float(rng.random())), varied(rng, (58, 104, 72), 22))
