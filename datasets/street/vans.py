"""Minibuses (and the vans of the same shape) and pickups."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from datasets.street.cars import DARK, LAMP, TAIL, cabin_width, glaze, lower_body, paint_of, trim_body, wheels
from datasets.street.decals import decal
from datasets.street.mesh import GLASS, Mesh, MeshBuilder
from datasets.street.palette import PAINTS, between, chance, pick, scaled, varied, weighted
from datasets.street.sprite import Colour

Rng = np.random.Generator
HalfWidth = Callable[[float], float]


def minibus(rng: Rng) -> Mesh:
    """A high one-box vehicle: rows of windows, or closed panels with a firm's lettering."""
    length, height, width = between(rng, 4.9, 7.0), between(rng, 2.1, 2.75), between(rng, 0.95, 1.05)
    front, rear, clear = length / 2, -length / 2, between(rng, 0.22, 0.32)
    body = varied(rng, (230, 230, 228)) if chance(rng, 0.6) else paint_of(rng)
    belt = between(rng, 1.15, 1.3)
    cowl = front - between(rng, 0.45, 0.85)
    roof_front = cowl - between(rng, 0.45, 0.95)
    half = cabin_width(width, belt, height, between(rng, 0.06, 0.12))
    mesh = MeshBuilder()
    mesh.section(0.0)
    nose = [(cowl, belt), (front - 0.08, belt - between(rng, 0.15, 0.3)), (front, 0.6), (front - 0.05, clear)]
    outline = [(rear + 0.05, clear), (rear, 0.7), (rear + 0.03, height - 0.12), (rear + 0.16, height)]
    mesh.extrude([*outline, (roof_front, height), *nose], half, body)
    windscreen(mesh, (cowl, belt), (roof_front, height), half, rng)
    flank(mesh, rng, (rear, roof_front, cowl), (belt, height), half, body)
    ends(mesh, rng, (rear, front), (belt, height, clear), half, nose[1])
    roof(mesh, rng, (rear, roof_front), height, half)
    if chance(rng, 0.4):
        stripe = paint_of(rng)
        z = between(rng, 0.65, 0.95)
        mesh.both_sides(
            [(rear + 0.05, z), (front - 0.2, z), (front - 0.2, z + 0.12), (rear + 0.05, z + 0.12)], half, stripe
        )
    wheels(mesh, rng, (rear + length * 0.2, front - length * 0.15), between(rng, 0.33, 0.4), width)
    return mesh.build()


def windscreen(
    mesh: MeshBuilder, foot: tuple[float, float], top: tuple[float, float], half: HalfWidth, rng: Rng
) -> None:
    """The sloping front window with a reflection."""
    tint = varied(rng, GLASS, 10)
    mesh.panel(foot, top, half, (-0.92, 0.92), (0.06, 0.8), tint, (1, 0, 0.4))
    mesh.panel(foot, top, half, (-0.6, 0.0), (0.25, 0.8), scaled(tint, 1.6), (1, 0, 0.4))


def flank(
    mesh: MeshBuilder, rng: Rng, x: tuple[float, float, float], z: tuple[float, float], half: HalfWidth, body: Colour
) -> None:
    """Side windows: the driver's, then either a row for passengers or a closed panel."""
    rear, roof_front, cowl = x
    belt, height = z
    low, high = belt + 0.06, belt + (height - belt) * between(rng, 0.55, 0.7)
    tint = varied(rng, GLASS, 10)
    slope = (cowl - roof_front) * (high - belt) / (height - belt)
    mesh.both_sides(
        [(roof_front - 0.25, low), (roof_front - 0.25, high), (cowl - slope - 0.1, high), (cowl - 0.15, low)],
        half,
        tint,
    )
    end = roof_front - 0.4
    for edge in (end, roof_front + 0.35):
        mesh.both_sides([(edge, 0.4), (edge, high), (edge + 0.035, high), (edge + 0.035, 0.4)], half, scaled(body, 0.6))
    if chance(rng, 0.72):
        count = int(rng.integers(2, 5))
        cuts = np.linspace(rear + 0.25, end, count + 1)
        for a, b in zip(cuts[:-1] + 0.05, cuts[1:] - 0.05, strict=True):
            mesh.both_sides([(a, low), (a, high), (b, high), (b, low)], half, tint)
            mesh.both_sides(
                [(a, (low + high) / 2), (a, high), (b, high), ((a + b) / 2, (low + high) / 2)], half, scaled(tint, 1.5)
            )
    elif chance(rng, 0.7):
        decal(mesh, rng, (rear + 0.5, end - 0.4), (0.75, high), half)


def ends(
    mesh: MeshBuilder,
    rng: Rng,
    x: tuple[float, float],
    z: tuple[float, float, float],
    half: HalfWidth,
    bonnet: tuple[float, float],
) -> None:
    """Lamps, grille, bumpers, rear doors and their windows."""
    rear, front = x
    belt, height, clear = z
    for u in ((-0.97, -0.62), (0.62, 0.97)):
        mesh.panel(bonnet, (front, 0.6), half, u, (0.05, 0.6), LAMP, (1, 0, 0.1))
    mesh.panel(bonnet, (front, 0.6), half, (-0.55, 0.55), (0.3, 0.9), DARK, (1, 0, 0.1))
    mesh.panel((front, 0.6), (front - 0.05, clear), half, (-0.95, 0.95), (0.3, 1), DARK, (1, 0, 0))
    mesh.both_sides([(front - 0.4, 0.86), (front - 0.1, 0.88), (front - 0.03, 0.7), (front - 0.34, 0.7)], half, LAMP)
    back, top = (rear, 0.7), (rear + 0.03, height - 0.12)
    mesh.panel(back, top, half, (-0.02, 0.02), (0, 1), DARK, (-1, 0, 0))
    for u in (-1, 1):
        mesh.panel(back, top, half, (u * 0.98, u * 0.86), (0.05, 0.4), TAIL, (-1, 0, 0))
        if chance(rng, 0.7):
            mesh.panel(back, top, half, (u * 0.78, u * 0.1), (0.42, 0.82), GLASS, (-1, 0, 0))
    mesh.both_sides([(rear + 0.02, 0.8), (rear + 0.14, 0.8), (rear + 0.14, belt), (rear + 0.02, belt)], half, TAIL)
    mesh.both_sides(
        [(rear + 0.06, clear), (front - 0.06, clear), (front - 0.06, clear + 0.12), (rear + 0.06, clear + 0.12)],
        half,
        DARK,
    )


def roof(mesh: MeshBuilder, rng: Rng, x: tuple[float, float], height: float, half: HalfWidth) -> None:
    """Air conditioning, hatches and ribs."""
    rear, front = x
    for share in np.linspace(0.1, 0.95, 6):
        at = rear + (front - rear) * share
        mesh.panel((at, height), (at + 0.04, height), half, (-0.9, 0.9), (0, 1), (176, 178, 178), (0, 0, 1))
    if chance(rng, 0.5):
        at = rear + (front - rear) * between(rng, 0.15, 0.6)
        mesh.box(
            (at, at + between(rng, 0.7, 1.3)),
            between(rng, 0.45, 0.7),
            (height, height + between(rng, 0.12, 0.25)),
            (222, 222, 220),
        )
    if chance(rng, 0.4):
        at = rear + (front - rear) * between(rng, 0.6, 0.8)
        mesh.panel((at, height + 0.01), (at + 0.6, height + 0.01), half, (-0.35, 0.35), (0, 1), DARK, (0, 0, 1))


def pickup(rng: Rng) -> Mesh:
    """A car's front with an open load bed behind one or two rows of seats."""
    double = chance(rng, 0.65)
    length, width = between(rng, 4.7, 5.5), between(rng, 0.84, 0.98)
    height, clear = between(rng, 1.62, 1.92), between(rng, 0.26, 0.42)
    front, rear, belt = length / 2, -length / 2, between(rng, 0.98, 1.14)
    body = paint_of(rng)
    cowl = front - between(rng, 1.15, 1.4)
    cab_rear = cowl - (between(rng, 2.0, 2.3) if double else between(rng, 1.15, 1.4))
    half = cabin_width(width, belt, height, between(rng, 0.1, 0.18))
    mesh = MeshBuilder()
    outline = lower_body(rear, front, clear, belt, cowl, belt - between(rng, 0.06, 0.14))
    mesh.section(0.0)
    mesh.extrude(outline, half, body)
    trim_body(mesh, rng, outline, half, (rear, front), clear, body)
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
    """What is in the bed: nothing, boxes, a cage, a roll bar or a cover."""
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
            mesh.both_sides(
                [(bar, rim), (bar, top), (bar + 0.06, top), (bar + 0.06, rim)], lambda _: width * 0.9, colour
            )
        for z in np.linspace(rim + 0.2, top - 0.06, 3 if what == "cage" else 1):
            mesh.both_sides([(a, z), (a, z + 0.07), (b, z + 0.07), (b, z)], lambda _: width * 0.9, colour)
    elif what == "bar":
        mesh.box((b - 0.3, b - 0.2), width * 0.8, (rim, rim + 0.5), DARK)
    elif what == "cover":
        mesh.box(
            (a, b), width * 0.9, (rim, rim + between(rng, 0.06, 0.55)), scaled(body, 0.9) if chance(rng, 0.5) else DARK
        )
