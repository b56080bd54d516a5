"""Heavy vehicles: trucks on one frame, and juggernauts (a tractor with a long trailer)."""

from __future__ import annotations

import numpy as np

from datasets.street.actors.cars import DARK, LAMP, TAIL, cabin_width, paint_of
from datasets.street.actors.loads import STEEL, Bed, body
from datasets.street.drawing.mesh import GLASS, Mesh, MeshBuilder, straight
from datasets.street.drawing.palette import between, chance, pick, scaled, varied

Rng = np.random.Generator


def truck(rng: Rng) -> Mesh:
    """A rigid lorry: box body, drop sides, tipper or refuse body behind its cab."""
    length, width = between(rng, 5.6, 8.6), between(rng, 1.0, 1.22)
    front, rear = length / 2, -length / 2
    cab_length, cab_top = between(rng, 1.5, 1.9), between(rng, 2.15, 2.9)
    deck = between(rng, 0.9, 1.1)
    cab_rear = front - cab_length
    mesh = MeshBuilder()
    mesh.section((rear + cab_rear) / 2)
    axles = (
        (rear + length * 0.2, rear + length * 0.2 + 1.15)
        if length > 7.4 and chance(rng, 0.6)
        else (rear + length * 0.2,)
    )
    bed = Bed((rear, cab_rear), width, deck)
    chassis(mesh, rng, bed, axles)
    what = pick(rng, ("box", "sides", "tipper", "refuse"), (4, 4, 2, 1))
    body(mesh, rng, what, bed._replace(x=(rear, cab_rear - 0.12)), between(rng, 2.7, 3.6))
    mesh.section(front)
    cab(mesh, rng, (cab_rear, front), width * 0.96, (0.42, cab_top), sleeper=False)
    heavy_wheels(mesh, rng, (front - cab_length * 0.55,), width, between(rng, 0.4, 0.48))
    return mesh.build()


def juggernaut(rng: Rng) -> Mesh:
    """An articulated lorry: tall tractor, gap, and a trailer on two or three axles."""
    trailer, width = between(rng, 8.5, 12.4), between(rng, 1.2, 1.28)
    cab_length, cab_top = between(rng, 2.0, 2.4), between(rng, 3.0, 3.75)
    length = trailer + cab_length + between(rng, 0.5, 0.9)
    front, rear = length / 2, -length / 2
    trailer_front, cab_rear, deck = rear + trailer, front - cab_length, between(rng, 1.1, 1.3)
    mesh = MeshBuilder()
    mesh.section(rear + trailer / 2)
    first = rear + between(rng, 1.0, 1.8)
    axles = tuple(first + 1.25 * index for index in range(int(rng.integers(2, 4))))
    bed = Bed((rear, trailer_front), width, deck)
    chassis(mesh, rng, bed, axles)
    what = pick(rng, ("box", "sides", "tipper", "tank", "container"), (4, 4, 3, 1.5, 2))
    body(mesh, rng, what, bed, between(rng, 3.4, 4.0))
    mesh.section(front - cab_length)
    drive = (cab_rear - 0.35,) if chance(rng, 0.6) else (cab_rear - 0.5, cab_rear + 0.7)
    mesh.box((cab_rear - 1.3, cab_rear), width * 0.5, (0.6, 0.95), DARK)
    heavy_wheels(mesh, rng, drive, width, 0.5)
    mesh.section(front)
    cab(mesh, rng, (cab_rear, front), width * 0.97, (0.45, cab_top), sleeper=True)
    heavy_wheels(mesh, rng, (front - cab_length * 0.6,), width, 0.5)
    return mesh.build()


def chassis(mesh: MeshBuilder, rng: Rng, bed: Bed, axles: tuple[float, ...]) -> None:
    """The frame with its wheels, mudguards, guard rail and rear lamps."""
    (rear, front), width, deck = bed
    mesh.box((rear + 0.1, front), width * 0.6, (0.55, deck), (54, 54, 56))
    heavy_wheels(mesh, rng, axles, width, between(rng, 0.44, 0.5))
    clear = max(axles) + 0.7
    if front - clear > 1.2:
        mesh.stripe((clear, front - 0.6), (0.5, 0.85), straight(width * 0.97), scaled(STEEL, between(rng, 0.5, 1.1)))
    for u in ((-0.95, -0.7), (0.7, 0.95)):
        mesh.panel((rear + 0.09, 0.6), (rear + 0.09, deck), straight(width), u, (0.2, 0.8), TAIL, (-1, 0, 0))


def heavy_wheels(mesh: MeshBuilder, rng: Rng, axles: tuple[float, ...], width: float, radius: float) -> None:
    """Large wheels with steel rims."""
    rim = varied(rng, (168, 168, 166), 20)
    for x in axles:
        mesh.wheel(x, radius, width, rim, 6)


def cab(
    mesh: MeshBuilder, rng: Rng, x: tuple[float, float], width: float, z: tuple[float, float], sleeper: bool
) -> None:
    """A forward-control cab: steep windscreen, side window, grille, lamps, and a wind deflector or none."""
    rear, front = x
    low, top = z
    colour = varied(rng, (232, 232, 230)) if chance(rng, 0.4) else paint_of(rng)
    brow = front - between(rng, 0.12, 0.35)
    sill = low + (top - low) * between(rng, 0.42, 0.5)
    half = cabin_width(width, sill, top, 0.05)
    mesh.extrude([(rear, low), (rear, top), (brow, top), (front, sill), (front, low)], half, colour)
    tint = varied(rng, GLASS, 10)
    glass_top = 0.62 if sleeper else 0.85
    mesh.panel((front, sill), (brow, top), half, (-0.92, 0.92), (0.06, glass_top), tint, (1, 0, 0.2))
    mesh.panel((front, sill), (brow, top), half, (-0.5, 0.1), (0.2, glass_top), scaled(tint, 1.6), (1, 0, 0.2))
    high = sill + (top - sill) * glass_top
    door = front - min(0.95, (front - rear) * 0.6)
    mesh.both_sides([(door, sill + 0.05), (door, high), (front - 0.3, high), (front - 0.12, sill + 0.05)], half, tint)
    mesh.both_sides([(door + 0.1, (sill + high) / 2), (door + 0.1, high), (front - 0.3, high)], half, scaled(tint, 1.5))
    mesh.stripe((door - 0.06, door - 0.01), (low + 0.3, high), half, scaled(colour, 0.6))
    nose = (front, low)
    mesh.panel(nose, (front, sill), half, (-0.6, 0.6), (0.4, 0.9), DARK, (1, 0, 0))
    mesh.panel(nose, (front, sill), half, (-1, 1), (0, 0.25), scaled(STEEL, 0.7), (1, 0, 0))
    for u in ((-0.95, -0.62), (0.62, 0.95)):
        mesh.panel(nose, (front, sill), half, u, (0.08, 0.3), LAMP, (1, 0, 0))
    mesh.stripe((front - 0.3, front - 0.02), (low + 0.1, low + 0.3), half, LAMP)
    if chance(rng, 0.6 if sleeper else 0.3):
        mesh.extrude([(rear + 0.1, top), (rear + 0.2, top + 0.45), (brow - 0.5, top)], straight(width * 0.85), colour)
