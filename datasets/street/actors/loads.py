"""Loads of lorries: closed boxes, open bodies with their cargo, tanks."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from datasets.street.actors.cars import DARK, cabin_width, paint_of
from datasets.street.actors.decals import Flanks, decal
from datasets.street.drawing.mesh import MeshBuilder, straight
from datasets.street.drawing.palette import between, chance, pick, scaled, varied
from datasets.street.drawing.sprite import Colour

Rng = np.random.Generator
STEEL: Colour = (132, 134, 134)
CARGO: tuple[Colour, ...] = (
    (150, 160, 166),
    (110, 150, 180),
    (80, 110, 150),
    (120, 190, 220),
    (70, 74, 78),
    (210, 214, 214),
)


class Bed(NamedTuple):
    """What a load stands on."""

    x: tuple[float, float]
    """Rear and front."""
    width: float
    """Half of it, as everywhere."""
    deck: float
    """Height."""


def body(mesh: MeshBuilder, rng: Rng, what: str, bed: Bed, top: float) -> None:
    """The load on the frame: ``box``, ``container``, ``refuse``, ``sides``, ``tipper`` or ``tank``."""
    if what == "sides":
        open_body(mesh, rng, bed, between(rng, 0.5, 0.62) * top, slats=True)
    elif what == "tipper":
        open_body(mesh, rng, bed, between(rng, 0.55, 0.72) * top, slats=False)
    elif what == "tank":
        tank_body(mesh, rng, bed, top * 0.9)
    else:
        box_body(mesh, rng, bed, top * (1.0 if what == "box" else 0.93), ribs=what != "box")


def box_body(mesh: MeshBuilder, rng: Rng, bed: Bed, top: float, ribs: bool) -> None:
    """A closed box or curtain sides, plain, ribbed or lettered."""
    x, width, deck = bed
    colour = varied(rng, (224, 224, 222)) if chance(rng, 0.45) else paint_of(rng)
    mesh.box(x, width, (deck, top), colour)
    half = straight(width)
    mesh.stripe((x[0], x[1]), (deck, deck + 0.14), half, scaled(colour, 0.65))
    mesh.stripe((x[0], x[1]), (top - 0.08, top), half, scaled(colour, 0.75))
    mesh.panel((x[0], deck), (x[0], top), half, (-0.02, 0.02), (0, 1), scaled(colour, 0.5), (-1, 0, 0))
    if ribs:
        for at in np.arange(x[0] + 0.3, x[1], 0.6):
            mesh.stripe((at, at + 0.12), (deck + 0.14, top - 0.08), half, scaled(colour, 0.82))
    if chance(rng, 0.65):
        decal(mesh, rng, Flanks((x[0] + 0.3, x[1] - 0.3), (deck + 0.3, top - 0.2), half))


def open_body(mesh: MeshBuilder, rng: Rng, bed: Bed, rim: float, slats: bool) -> None:
    """An open body seen from above: boards or steel sides, and the load inside."""
    x, width, deck = bed
    colour = varied(rng, (96, 128, 156)) if slats and chance(rng, 0.4) else paint_of(rng)
    half = straight(width)
    mesh.box(x, width, (deck, rim), colour)
    inside = scaled(colour, 0.4)
    mesh.panel((x[0] + 0.08, rim), (x[1] - 0.08, rim), half, (-0.93, 0.93), (0, 1), inside, (0, 0, 1))
    step = between(rng, 0.9, 1.6)
    for at in np.arange(x[0], x[1], step):
        mesh.stripe((at, at + 0.1), (deck, rim), half, scaled(colour, 0.6))
    if slats:
        for z in np.arange(deck + 0.2, rim - 0.05, 0.24):
            mesh.stripe((x[0], x[1]), (z, z + 0.05), half, scaled(colour, 0.55))
    cargo(mesh, rng, bed, rim)


def cargo(mesh: MeshBuilder, rng: Rng, bed: Bed, rim: float) -> None:
    """A heap of bulk goods, stacked boxes, or an empty bed."""
    x, width, _ = bed
    colour = varied(rng, pick(rng, CARGO))
    what = pick(rng, ("heap", "boxes", "empty"), (3, 2, 2))
    if what == "heap":
        edges = np.linspace(x[0], x[1], max(int((x[1] - x[0]) / 2.5), 1) + 1).tolist()
        for start, stop in pairwise(edges):
            peak = rim + between(rng, 0.15, 0.55)
            outline = [(start + 0.1, rim), (start + 0.6, peak), (stop - 0.6, peak), (stop - 0.1, rim)]
            mesh.extrude(outline, cabin_width(width * 0.9, rim, peak, 0.5), colour)
    elif what == "boxes":
        at = x[0] + 0.3
        while at < x[1] - 1.4:
            size = between(rng, 0.8, 1.5)
            mesh.box(
                (at, at + size),
                width * between(rng, 0.6, 0.88),
                (rim - 0.1, rim + between(rng, 0.15, 0.8)),
                varied(rng, colour),
            )
            at += size + between(rng, 0.05, 0.5)


def tank_body(mesh: MeshBuilder, rng: Rng, bed: Bed, top: float) -> None:
    """A tank of elliptic section with a walkway on top."""
    x, width, deck = bed
    colour = varied(rng, (214, 214, 212)) if chance(rng, 0.6) else paint_of(rng)
    middle, radius = (deck + top) / 2, (top - deck) / 2
    heights = np.linspace(deck, top, 7).tolist()

    def half(z: float) -> float:
        return width * math.sqrt(max(1 - ((z - middle) / (radius * 1.05)) ** 2, 0.12))

    mesh.extrude([(x[0], deck), (x[0], top), (x[1], top), (x[1], deck)], straight(width * 0.35), colour)
    for low, high in pairwise(heights):
        gain = 0.62 + 0.5 * (low - deck) / (top - deck)
        mesh.stripe((x[0], x[1]), (low, high), half, scaled(colour, gain))
        mesh.face(
            [(x[0], -half(low), low), (x[0], half(low), low), (x[0], half(high), high), (x[0], -half(high), high)],
            scaled(colour, 0.8),
            (-1, 0, 0),
        )
    mesh.box((x[0] + 0.5, x[1] - 0.5), width * 0.35, (top, top + 0.1), STEEL)
    for at in np.linspace(x[0] + 1.2, x[1] - 1.2, 3).tolist():
        mesh.box((at - 0.25, at + 0.25), 0.25, (top, top + 0.25), DARK)
