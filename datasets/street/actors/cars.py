"""Cars, and the parts that all light vehicles share."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from datasets.street.drawing.mesh import GLASS, HalfWidth, Mesh, MeshBuilder, Profile, straight
from datasets.street.drawing.palette import PAINTS, between, chance, pick, scaled, varied, weighted
from datasets.street.drawing.sprite import Colour

Rng = np.random.Generator
DARK: Colour = (44, 42, 42)
LAMP: Colour = (226, 238, 244)
TAIL: Colour = (40, 34, 190)


def cabin_width(base: float, belt: float, top: float, lean: float) -> HalfWidth:
    """Half width over height: ``base`` up to the belt line, then narrowing by ``lean`` (share) towards the roof."""

    def half_width(z: float) -> float:
        return base * (1 - lean * min(max((z - belt) / max(top - belt, 0.1), 0.0), 1.0))

    return half_width


def paint_of(rng: Rng) -> Colour:
    """A vehicle's body colour."""
    return varied(rng, weighted(rng, PAINTS))


def car(rng: Rng, paint: Colour | None = None) -> Mesh:
    """A saloon, hatchback, estate, off-roader or small van with windows; ``paint``: of its body, else one of many."""
    kind = pick(rng, ("saloon", "hatch", "estate", "offroad", "kombi"), (4, 4, 2, 2, 2))
    length = between(rng, *{"saloon": (4.2, 4.9), "hatch": (3.5, 4.2), "estate": (4.3, 4.8)}.get(kind, (4.0, 4.7)))
    height = between(rng, *{"offroad": (1.62, 1.8), "kombi": (1.72, 1.9)}.get(kind, (1.38, 1.54)))
    width, clear = between(rng, 0.8, 0.93), between(rng, 0.17, 0.3 if kind == "offroad" else 0.22)
    belt = height * between(rng, 0.58, 0.64)
    front, rear = length / 2, -length / 2
    cowl = front - between(rng, 0.75, 0.95) if kind == "kombi" else front - between(rng, 1.0, 1.3)
    roof_front = cowl - between(rng, 0.5, 0.75)
    tail = rear + (between(rng, 0.55, 0.85) if kind == "saloon" else between(rng, 0.04, 0.12))
    roof_rear = tail + {"saloon": 0.55, "hatch": 0.4, "estate": 0.25}.get(kind, 0.1)
    body = paint or paint_of(rng)
    mesh = MeshBuilder()
    mesh.section(0.0)
    nose = belt - between(rng, 0.1, 0.2)
    lower = LowerBody(rear, front, clear, belt, cowl, nose)
    half = cabin_width(width, belt, height, between(rng, 0.1, 0.2))
    mesh.extrude(lower.outline, half, body)
    trim_body(mesh, rng, lower, half, body)
    cabin = [(tail, belt), (roof_rear, height), (roof_front, height), (cowl, belt)]
    mesh.extrude(cabin, half, body)
    glaze(mesh, rng, cabin, half, pillars=2 if kind in ("estate", "offroad", "kombi") else 1)
    if chance(rng, 0.25 if kind == "saloon" else 0.5):
        roof_rails(mesh, cabin, half)
    wheels(
        mesh, rng, (rear + length * 0.18, front - length * 0.17), between(rng, 0.29, 0.36) + 0.1 * (clear - 0.17), width
    )
    return mesh.build()


class LowerBody(NamedTuple):
    """A light vehicle below its windows: where it ends, and heights, metres."""

    rear: float
    front: float
    clear: float
    belt: float
    cowl: float
    nose: float

    @property
    def outline(self) -> Profile:
        """The side view, from the tail clockwise."""
        rear, front, clear, belt, cowl, nose = self
        return [
            (rear + 0.08, clear),
            (rear, clear + 0.3),
            (rear + 0.06, belt),
            (cowl, belt + 0.01),
            (front - 0.2, nose),
            (front, nose - 0.22),
            (front - 0.06, clear),
        ]


def trim_body(mesh: MeshBuilder, rng: Rng, lower: LowerBody, half: HalfWidth, body: Colour) -> None:
    """Sills, door lines, handles, lamps, grille and number plates of a light vehicle's lower body."""
    rear, front, clear, belt = lower.rear, lower.front, lower.clear, lower.belt
    outline = lower.outline
    mesh.stripe((rear + 0.1, front - 0.1), (clear, clear + 0.1), half, DARK)
    middle = (rear + front) / 2
    for x in (middle - 0.75, middle + 0.15, middle + 0.95)[: int(rng.integers(2, 4))]:
        mesh.stripe((x, x + 0.035), (clear + 0.12, belt), half, scaled(body, 0.6))
    for x in (middle - 0.05, middle + 0.8):
        mesh.stripe((x - 0.2, x - 0.04), (belt - 0.12, belt - 0.16), half, DARK)
    nose_top, nose, foot = outline[4], outline[5], outline[6]
    for u in ((-0.97, -0.6), (0.6, 0.97)):
        mesh.panel(nose_top, nose, half, u, (0.15, 0.85), LAMP, (1, 0, 0.2))
        mesh.panel(outline[2], outline[1], half, u, (0.1, 0.65), TAIL, (-1, 0, 0.1))
    mesh.panel(nose_top, nose, half, (-0.5, 0.5), (0.3, 1.0), DARK, (1, 0, 0.2))
    mesh.panel(nose, foot, half, (-0.85, 0.85), (0.45, 1.0), DARK, (1, 0, 0))
    mesh.panel(nose, foot, half, (-0.28, 0.28), (0.1, 0.4), LAMP, (1, 0, 0))
    mesh.panel(outline[1], outline[0], half, (-0.95, 0.95), (0.1, 1.0), scaled(DARK, 1.3), (-1, 0, -0.1))
    mesh.panel(outline[2], outline[1], half, (-0.28, 0.28), (0.4, 0.7), LAMP, (-1, 0, 0.1))
    lamp_z = (nose_top[1] + nose[1]) / 2
    mesh.both_sides(
        [
            (front - 0.34, lamp_z + 0.05),
            (front - 0.12, lamp_z + 0.03),
            (front - 0.04, lamp_z - 0.07),
            (front - 0.3, lamp_z - 0.05),
        ],
        half,
        LAMP,
    )
    mesh.both_sides(
        [(rear + 0.03, belt - 0.06), (rear + 0.2, belt - 0.06), (rear + 0.2, belt - 0.24), (rear + 0.02, belt - 0.24)],
        half,
        TAIL,
    )


def glaze(mesh: MeshBuilder, rng: Rng, cabin: Profile, half: HalfWidth, pillars: int) -> None:
    """Windscreen, rear and side windows of a cabin given as (tail foot, tail top, front top, front foot)."""
    (tail, belt), (roof_rear, top), (roof_front, _), (cowl, _) = cabin
    tint = varied(rng, GLASS, 10)
    shine = scaled(tint, 1.7)
    mesh.panel((cowl, belt), (roof_front, top), half, (-0.9, 0.9), (0.08, 0.92), tint, (1, 0, 0.5))
    mesh.panel((cowl, belt), (roof_front, top), half, (-0.5, 0.15), (0.3, 0.92), shine, (1, 0, 0.5))
    mesh.panel((tail, belt), (roof_rear, top), half, (-0.85, 0.85), (0.2, 0.88), tint, (-1, 0, 0.3))
    low, high = belt + 0.05 * (top - belt), belt + 0.86 * (top - belt)
    edges = np.linspace(0.08, 0.92, pillars + 2)

    def at(share: float, z: float) -> tuple[float, float]:
        lift = (z - belt) / (top - belt)
        left, right = tail + (roof_rear - tail) * lift, cowl + (roof_front - cowl) * lift
        return left + (right - left) * share, z

    for a, b in zip(edges[:-1] + 0.012, edges[1:] - 0.012, strict=True):
        mesh.both_sides([at(a, low), at(a, high), at(b, high), at(b, low)], half, tint)
        mid = (low + high) / 2
        mesh.both_sides([at(a, mid), at(a, high), at(b, high), at((a + b) / 2, mid)], half, shine)


def roof_rails(mesh: MeshBuilder, cabin: Profile, half: HalfWidth) -> None:
    """Two dark rails along the roof."""
    (_, _), (a, top), (b, _), _ = cabin
    for u in ((-0.95, -0.86), (0.86, 0.95)):
        mesh.panel((a + 0.1, top), (b - 0.1, top), half, u, (0, 1), DARK, (0, 0, 1))


def wheels(mesh: MeshBuilder, rng: Rng, axles: tuple[float, ...], radius: float, half_width: float) -> None:
    """Wheels with arches at these axles."""
    rim = varied(rng, (178, 178, 176) if chance(rng, 0.7) else (70, 70, 72))
    spokes = int(rng.integers(4, 8))
    for x in axles:
        angles = np.linspace(0, np.pi, 8)
        arch = [(x + radius * 1.2 * np.cos(a), radius + radius * 1.2 * np.sin(a)) for a in angles]
        mesh.both_sides(arch, straight(half_width + 0.005), DARK)
        mesh.wheel(x, radius, half_width + 0.01, rim, spokes)
