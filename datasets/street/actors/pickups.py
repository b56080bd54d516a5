"""Pickups: a car's front and an open load bed."""

from __future__ import annotations

import numpy as np

from datasets.street.actors.cars import DARK, LowerBody, cabin_width, glaze, paint_of, trim_body, wheels
from datasets.street.drawing.mesh import HalfWidth, Mesh, MeshBuilder, straight
from datasets.street.drawing.palette import PAINTS, between, chance, pick, scaled, varied, weighted
from datasets.street.drawing.sprite import Colour

Rng = np.random.Generator


def pickup(rng: Rng, paint: Colour | None = None) -> Mesh:
    """A car's front with an open load bed behind one or two rows of seats; ``paint``: as for a car."""
    double = chance(rng, 0.65)
    length, width = between(rng, 4.7, 5.5), between(rng, 0.84, 0.98)
    height, clear = between(rng, 1.62, 1.92), between(rng, 0.26, 0.42)
    front, rear, belt = length / 2, -length / 2, between(rng, 0.98, 1.14)
    body = paint or paint_of(rng)
    cowl = front - between(rng, 1.15, 1.4)
    cab_rear = cowl - (between(rng, 2.0, 2.3) if double else between(rng, 1.15, 1.4))
    half = cabin_width(width, belt, height, between(rng, 0.1, 0.18))
    mesh = MeshBuilder()
    lower = LowerBody(rear, front, clear, belt, cowl, belt - between(rng, 0.06, 0.14))
    mesh.section(0.0)
    mesh.extrude(lower.outline, half, body)
    trim_body(mesh, rng, lower, half, body)
    bed(mesh, (rear + 0.1, cab_rear - 0.05), belt, half, body)
    load(mesh, rng, (rear + 0.12, cab_rear - 0.08), belt, width, body)
    mesh.section(front)
    cabin = [(cab_rear, belt), (cab_rear + 0.1, height), (cowl - between(rng, 0.6, 0.8), height), (cowl, belt)]
    mesh.extrude(cabin, half, body)
    glaze(mesh, rng, cabin, half, pillars=1 if double else 0)
    mesh.section(0.0)
    wheels(mesh, rng, (rear + length * 0.22, front - length * 0.17), between(rng, 0.36, 0.43), width)
    return mesh.build()


def bed(mesh: MeshBuilder, x: tuple[float, float], rim: float, half: HalfWidth, body: Colour) -> None:
    """The open bed: dark floor between the walls, with the inner side of the far wall showing."""
    a, b = x
    mesh.panel((a, rim + 0.015), (b, rim + 0.015), half, (-0.86, 0.86), (0, 1), scaled(body, 0.45), (0, 0, 1))
    mesh.panel((a + 0.1, rim + 0.015), (b - 0.05, rim + 0.015), half, (-0.72, 0.72), (0, 1), (60, 62, 64), (0, 0, 1))


def load(mesh: MeshBuilder, rng: Rng, x: tuple[float, float], rim: float, width: float, body: Colour) -> None:
    """The load in the bed: nothing, boxes, a cage, a roll bar or a cover."""
    a, b = x
    what = pick(rng, ("empty", "boxes", "cage", "bar", "cover", "rack"), (3, 3, 2, 2, 1, 1.5))
    if what == "boxes":
        for _ in range(int(rng.integers(1, 5))):
            start = between(rng, a, b - 0.5)
            colour = varied(rng, weighted(rng, PAINTS) if chance(rng, 0.5) else (90, 130, 160))
            mesh.box(
                (start, min(start + between(rng, 0.3, 0.9), b)),
                width * between(rng, 0.3, 0.75),
                (rim - 0.2, rim + between(rng, 0.08, 0.45)),
                colour,
            )
    elif what in ("cage", "rack"):
        top = rim + between(rng, 0.45, 0.8)
        bars = np.linspace(a, b - 0.06, 6 if what == "cage" else 3)
        colour = varied(rng, (50, 80, 110) if chance(rng, 0.5) else (90, 90, 90))
        for bar in bars:
            mesh.stripe((bar, bar + 0.06), (rim, top), straight(width * 0.9), colour)
        for z in np.linspace(rim + 0.2, top - 0.06, 3 if what == "cage" else 1):
            mesh.stripe((a, b), (z, z + 0.07), straight(width * 0.9), colour)
    elif what == "bar":
        mesh.box((b - 0.3, b - 0.2), width * 0.8, (rim, rim + 0.5), DARK)
    elif what == "cover":
        mesh.box(
            (a, b), width * 0.9, (rim, rim + between(rng, 0.06, 0.55)), scaled(body, 0.9) if chance(rng, 0.5) else DARK
        )
