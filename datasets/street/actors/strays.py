"""Moving things of no class: dogs, birds, blown bags and leaves. A recogniser should call them "other"."""

from __future__ import annotations

import math

import numpy as np

from datasets.street.drawing.figure import Blob, limb
from datasets.street.drawing.palette import between, chance, pick, scaled, varied
from datasets.street.drawing.sprite import Colour
from datasets.street.drawing.things import Figure

Rng = np.random.Generator
COATS: tuple[Colour, ...] = ((40, 40, 44), (70, 100, 140), (190, 200, 206), (110, 150, 190), (60, 70, 90))


def stray(rng: Rng) -> tuple[str, Figure]:
    """A new one, with its kind: ``dog``, ``bag``, ``leaves`` or ``bird``."""
    kind = pick(rng, ("dog", "bag", "leaves", "bird"), (3, 2, 2, 2))
    return kind, {"dog": dog, "bag": bag, "leaves": leaves, "bird": bird}[kind](rng)


def dog(rng: Rng) -> Figure:
    """A dog at a trot."""
    size, coat = between(rng, 0.45, 0.85), varied(rng, pick(rng, COATS))
    ears, tail = chance(rng, 0.5), between(rng, 0.2, 0.6)

    def shape(gone_m: float, from_left: bool) -> list[Blob]:
        near = 1.0 if from_left else -1.0
        phase = gone_m / (0.5 * size) * math.pi
        blobs = []
        for side, x, shift in ((-near, 0.36, 0.0), (-near, -0.36, math.pi), (near, 0.36, math.pi), (near, -0.36, 0.0)):
            swing = 0.5 * math.sin(phase + shift)
            hip = (x * size, side * 0.08 * size, 0.5 * size)
            foot = (hip[0] + 0.45 * size * math.sin(swing), hip[1], max(hip[2] - 0.48 * size * math.cos(swing), 0.03))
            blobs.append(limb(scaled(coat, 1.0 if side == near else 0.8), (0.08 * size, 0.045 * size), hip, foot))
        blobs.append(
            limb(coat, (0.15 * size, 0.12 * size), (0.36 * size, 0, 0.62 * size), (-0.38 * size, 0, 0.6 * size))
        )
        wag = 0.1 * size * math.sin(2 * phase)
        blobs.append(
            limb(
                coat,
                (0.04 * size, 0.025 * size),
                (-0.45 * size, 0, 0.65 * size),
                (-0.7 * size, wag, (0.65 + tail) * size),
            )
        )
        blobs.append(limb(coat, (0.1 * size, 0.09 * size), (0.4 * size, 0, 0.7 * size), (0.6 * size, 0, 0.88 * size)))
        blobs.append(
            limb(coat, (0.12 * size, 0.06 * size), (0.62 * size, 0, 0.9 * size), (0.85 * size, 0, 0.84 * size))
        )
        top = 1.08 if ears else 0.82
        blobs.append(
            limb(
                scaled(coat, 0.7),
                (0.05 * size, 0.03 * size),
                (0.58 * size, near * 0.07, 0.97 * size),
                (0.54 * size, near * 0.09, top * size),
            )
        )
        return blobs

    return Figure(shape, 1.6 * size, 1.1 * size)


def bag(rng: Rng) -> Figure:
    """A plastic bag that tumbles in the wind."""
    size, colour = between(rng, 0.25, 0.5), varied(rng, pick(rng, ((230, 230, 226), (200, 190, 120), (90, 90, 92))))
    corners = rng.normal(0, 0.5, (6, 3)) * size

    def shape(gone_m: float, _: bool) -> list[Blob]:
        turn, height = gone_m * 2.2, size * (0.9 + 1.1 * abs(math.sin(gone_m * 0.9)))
        cos, sin = math.cos(turn), math.sin(turn)
        balls = tuple(
            (float(x * cos - z * sin), float(y), float(height + x * sin + z * cos), 0.06) for x, y, z in corners
        )
        return [Blob(colour, balls), Blob(scaled(colour, 0.82), balls[:3])]

    return Figure(shape, size * 2, size * 2)


def leaves(rng: Rng) -> Figure:
    """A handful of dry leaves in a gust."""
    count = int(rng.integers(5, 12))
    places = rng.normal(0, 1, (count, 3)) * (0.7, 0.4, 0.2)
    colours = [varied(rng, pick(rng, ((40, 90, 150), (50, 130, 180), (60, 110, 110)))) for _ in range(count)]

    def shape(gone_m: float, _: bool) -> list[Blob]:
        blobs = []
        for index, (x, y, z) in enumerate(places.tolist()):
            lift = 0.25 + abs(z) + 0.25 * math.sin(gone_m * 2 + index)
            dx = 0.09 * math.cos(gone_m * 5 + index)
            blobs.append(limb(colours[index], (0.05, 0.03), (x - dx, y, lift), (x + dx, y, lift + 0.06)))
        return blobs

    return Figure(shape, 2.0, 0.8, casts=False)


def bird(rng: Rng) -> Figure:
    """A bird that flies across, wings beating."""
    size, colour = between(rng, 0.3, 0.55), varied(rng, pick(rng, ((60, 60, 62), (150, 150, 150), (220, 220, 220))))
    height = between(rng, 1.5, 5.0)

    def shape(gone_m: float, _: bool) -> list[Blob]:
        beat = math.sin(gone_m * 4.5)
        z = height + 0.15 * math.sin(gone_m * 0.8)
        wings = [
            limb(
                scaled(colour, 0.85),
                (0.08 * size, 0.03 * size),
                (0, 0, z),
                (-0.1 * size, side * 0.8 * size, z + 0.6 * size * beat),
            )
            for side in (-1, 1)
        ]
        return [wings[0], limb(colour, (0.12 * size, 0.05 * size), (0.3 * size, 0, z), (-0.5 * size, 0, z)), wings[1]]

    return Figure(shape, size, height + 0.5, casts=False)
