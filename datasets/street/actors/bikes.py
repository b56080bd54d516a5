"""Two-wheelers with their riders: motorbikes, scooters and bicycles."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from datasets.street.drawing.figure import Ball, Blob, limb
from datasets.street.drawing.mesh import RUBBER
from datasets.street.drawing.palette import (
    CLOTHES,
    HAIRS,
    PAINTS,
    SKINS,
    between,
    chance,
    pick,
    scaled,
    varied,
    weighted,
)
from datasets.street.drawing.sprite import Colour

Rng = np.random.Generator
Point = tuple[float, float, float]
METAL: Colour = (150, 150, 150)


@dataclass(frozen=True)
class Bike:
    """One two-wheeler with its rider; lengths in metres."""

    kind: str  # motorbike | scooter | bicycle
    base_m: float
    wheel_m: float
    scale: float
    paint: Colour
    rider: Colour
    legs: Colour
    skin: Colour
    helmet: Colour
    passenger: Colour | None
    box: Colour | None


def bike(rng: Rng) -> Bike:
    """A new two-wheeler."""
    kind = pick(rng, ("motorbike", "scooter", "bicycle"), (4, 3, 2))
    passenger = kind != "bicycle" and chance(rng, 0.2)
    return Bike(
        kind=kind,
        base_m=between(rng, *{"motorbike": (1.3, 1.5), "scooter": (1.15, 1.3), "bicycle": (1.0, 1.12)}[kind]),
        wheel_m=between(rng, *{"motorbike": (0.28, 0.33), "scooter": (0.2, 0.26), "bicycle": (0.32, 0.36)}[kind]),
        scale=between(rng, 0.92, 1.08),
        paint=varied(rng, weighted(rng, PAINTS)),
        rider=varied(rng, weighted(rng, CLOTHES)),
        legs=varied(rng, weighted(rng, CLOTHES)),
        skin=varied(rng, pick(rng, SKINS), 8),
        helmet=varied(rng, weighted(rng, PAINTS)) if kind != "bicycle" or chance(rng, 0.5) else pick(rng, HAIRS),
        passenger=varied(rng, weighted(rng, CLOTHES)) if passenger else None,
        box=varied(rng, weighted(rng, PAINTS)) if not passenger and chance(rng, 0.4) else None,
    )


def riding(what: Bike, rolled_m: float, seen_from_left: bool) -> list[Blob]:
    """The blobs of machine and rider, in painting order for a viewer on the left or right."""
    near = 1.0 if seen_from_left else -1.0
    seat, bars = seat_and_bars(what)
    turn = rolled_m / (0.9 if what.kind == "bicycle" else 1e9) * math.pi
    blobs = [*rider_leg(what, seat, -near, turn)]
    for x in (-what.base_m / 2, what.base_m / 2):
        blobs += wheel(what, x, near, rolled_m)
    blobs += frame(what, seat, bars)
    blobs += rider_leg(what, seat, near, turn)
    if what.passenger is not None:
        back = (seat[0] - 0.34, 0.0, seat[2] + 0.06)
        blobs += upper_body(what, back, (back[0] + 0.3, 0.0, seat[2] + 0.4), what.passenger, near)
    blobs += upper_body(what, seat, bars, what.rider, near)
    return blobs


def seat_and_bars(what: Bike) -> tuple[Point, Point]:
    """Where rider and hands are."""
    height = {"motorbike": 0.82, "scooter": 0.76, "bicycle": 0.95}[what.kind] * what.scale
    return (-0.16 * what.base_m, 0.0, height), (0.3 * what.base_m, 0.0, height + 0.26 * what.scale)


def wheel(what: Bike, x: float, near: float, rolled_m: float) -> list[Blob]:
    """Tyre with a light inside and spokes."""
    radius, thick = what.wheel_m, 0.025 if what.kind == "bicycle" else 0.06
    angles = np.linspace(0, 2 * math.pi, 12, endpoint=False)

    def disc(reach: float, y: float) -> tuple[Ball, ...]:
        return tuple((x + reach * math.cos(a), y, radius + reach * math.sin(a), 0.01) for a in angles)

    inside = (176, 176, 176) if what.kind == "bicycle" else (104, 104, 106)
    blobs = [Blob(RUBBER, disc(radius, -thick * near) + disc(radius, thick * near))]
    blobs.append(Blob(inside, disc(radius * 0.78, thick * near)))
    turn = rolled_m / radius
    for spoke in range(3):
        dx, dz = (
            0.7 * radius * math.cos(spoke * math.pi / 3 - turn),
            0.7 * radius * math.sin(spoke * math.pi / 3 - turn),
        )
        y = (thick + 0.01) * near
        blobs.append(limb((64, 64, 66), (0.014, 0.014), (x - dx, y, radius - dz), (x + dx, y, radius + dz)))
    return blobs


def frame(what: Bike, seat: Point, bars: Point) -> list[Blob]:
    """Everything between the wheels."""
    half, hub = what.base_m / 2, what.wheel_m
    front, rear, fork = (half, 0.0, hub), (-half, 0.0, hub), (half * 0.72, 0.0, seat[2] - 0.05)
    if what.kind == "bicycle":
        return [*bicycle(what, seat, front, rear, fork), *handlebar(bars, fork)]
    parts = scooter(what, seat, rear) if what.kind == "scooter" else motorbike(what, seat, rear)
    return [
        limb(METAL, (0.04, 0.04), front, fork),
        *parts,
        limb(what.paint, (0.05, 0.05), (half - 0.15, 0, 2 * hub + 0.02), (half + 0.18, 0, 2 * hub - 0.06)),
        limb(RUBBER, (0.06, 0.08), (rear[0] * 0.95, 0, seat[2] + 0.02), (seat[0] + 0.2, 0, seat[2] - 0.02)),
        Blob((214, 236, 244), ((half * 0.82, 0, seat[2] + 0.04, 0.085),)),
        *handlebar(bars, fork),
        *top_box(what, rear, seat),
    ]


def bicycle(what: Bike, seat: Point, front: Point, rear: Point, fork: Point) -> list[Blob]:
    """Thin tubes and a saddle."""
    crank, post = (-0.05, 0.0, what.wheel_m), (seat[0], 0.0, seat[2] - 0.12)
    tubes = ((rear, crank), (crank, post), (crank, fork), (fork, post), (rear, post), (front, fork))
    saddle = limb(RUBBER, (0.05, 0.03), (seat[0] - 0.1, 0, seat[2]), (seat[0] + 0.1, 0, seat[2]))
    return [*(limb(what.paint, (0.024, 0.024), a, b) for a, b in tubes), saddle]


def scooter(what: Bike, seat: Point, rear: Point) -> list[Blob]:
    """Foot board, rounded tail and leg shield."""
    half, top = what.base_m / 2, seat[2]
    foot: tuple[Ball, ...] = tuple((half * 0.6, y, 0.32, 0.03) for y in (-0.16, 0.16))
    head: tuple[Ball, ...] = tuple((half * 0.42, y, top + 0.05, 0.04) for y in (-0.13, 0.13))
    upper: tuple[Ball, ...] = ((rear[0] - 0.16, 0, top - 0.12, 0.1), (seat[0] + 0.14, 0, top - 0.2, 0.12))
    lower: tuple[Ball, ...] = ((-0.1, 0, 0.36, 0.1), (rear[0], 0, what.wheel_m + 0.18, 0.1))
    board = limb(scaled(what.paint, 0.7), (0.08, 0.08), (-0.15, 0, 0.3), (half * 0.6, 0, 0.3))
    return [board, Blob(what.paint, upper + lower), Blob(what.paint, foot + head)]


def motorbike(what: Bike, seat: Point, rear: Point) -> list[Blob]:
    """Swing arm, exhaust, engine, tail and tank."""
    half, top = what.base_m / 2, seat[2]
    return [
        limb(METAL, (0.035, 0.035), rear, (-0.1, 0, 0.36)),
        limb(METAL, (0.05, 0.035), (rear[0] - 0.1, -0.15, 0.34), (0.1, -0.15, 0.26)),
        Blob((78, 78, 80), ((-0.12, 0, 0.34, 0.13), (0.2, 0, 0.36, 0.14), (0.05, 0, 0.55, 0.12))),
        limb(scaled(what.paint, 0.9), (0.06, 0.09), (rear[0] - 0.12, 0, top + 0.06), (seat[0], 0, top - 0.1)),
        Blob(what.paint, ((0.02, 0, top - 0.02, 0.13), (half * 0.55, 0, top + 0.04, 0.12))),
    ]


def handlebar(bars: Point, fork: Point) -> list[Blob]:
    """Stem and bar."""
    wide = (bars[0], 0.3, bars[2]), (bars[0], -0.3, bars[2])
    return [limb(METAL, (0.025, 0.025), fork, bars), limb((50, 50, 50), (0.025, 0.025), *wide)]


def top_box(what: Bike, rear: Point, seat: Point) -> list[Blob]:
    """A delivery box on the tail, if any."""
    if what.box is None:
        return []
    x, z = rear[0] - 0.05, seat[2] + 0.1
    corners: tuple[Ball, ...] = tuple(
        (x + dx, dy, z + dz, 0.02) for dx in (-0.2, 0.2) for dy in (-0.2, 0.2) for dz in (0.0, 0.38)
    )
    return [Blob(what.box, corners)]


def rider_leg(what: Bike, seat: Point, side: float, turn: float) -> list[Blob]:
    """One leg: on the peg, or following the pedal."""
    y = 0.13 * side
    if what.kind == "bicycle":
        angle = turn + (0 if side > 0 else math.pi)
        foot = (-0.05 + 0.17 * math.cos(angle), y, what.wheel_m - 0.17 * math.sin(angle))
        knee = (0.24 + 0.06 * math.cos(angle), y, (seat[2] + foot[2]) / 2 + 0.12)
    else:
        foot, knee = (0.02, y * 1.3, 0.3), (0.32, y * 1.5, seat[2] - 0.12)
    colour = what.legs if side > 0 else scaled(what.legs, 0.85)
    return [
        limb(colour, (0.075, 0.055), knee, foot),
        limb((42, 42, 44), (0.05, 0.04), foot, (foot[0] + 0.14, y, foot[2] - 0.02)),
        limb(colour, (0.11, 0.08), (seat[0], y * 0.7, seat[2] + 0.08), knee),
    ]


def upper_body(what: Bike, seat: Point, hands: Point, cloth: Colour, near: float) -> list[Blob]:
    """Torso leaning forward, helmet, and the arm on the near side over it."""
    shoulder = (seat[0] + (0.22 if what.kind == "scooter" else 0.3) * what.scale, 0.0, seat[2] + 0.52 * what.scale)
    top = (shoulder[0] + 0.08, 0.0, shoulder[2] + 0.2)
    torso = Blob(
        cloth,
        tuple(
            (x, dy, z, r)
            for dy in (-0.1, 0.1)
            for x, z, r in ((shoulder[0], shoulder[2], 0.1), (seat[0], seat[2] + 0.1, 0.12))
        ),
    )
    arms = []
    for side in (-near, near):
        a, b = (shoulder[0] + 0.02, 0.19 * side, shoulder[2]), (hands[0], 0.28 * side, hands[2] + 0.03)
        elbow = ((a[0] + b[0]) / 2 - 0.02, 0.3 * side, (a[2] + b[2]) / 2 - 0.09)
        arms.append(
            [
                limb(scaled(cloth, 0.88), (0.06, 0.05), a, elbow),
                limb(scaled(cloth, 0.88), (0.05, 0.045), elbow, b),
                Blob(what.skin, ((*b, 0.045),)),
            ]
        )
    helmet = Blob(what.helmet, ((*top, 0.135),))
    face = limb(
        what.skin if what.kind == "bicycle" else (58, 50, 46),
        (0.085, 0.07),
        (top[0] + 0.07, 0, top[2] - 0.01),
        (top[0] + 0.06, 0, top[2] - 0.07),
    )
    return [*arms[0], torso, limb(what.skin, (0.06, 0.06), shoulder, top), helmet, face, *arms[1]]
