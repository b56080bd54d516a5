"""Signs on flanks: coloured fields with block letters, as firms paint them on vans and trailers."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from datasets.street.drawing.mesh import HalfWidth, MeshBuilder
from datasets.street.drawing.palette import PAINTS, between, chance, varied, weighted
from datasets.street.drawing.sprite import Colour

# Block letters as rectangles (x0, z0, x1, z1) in a cell of 1 × 1; no real writing, only its rhythm.
LETTERS: tuple[tuple[tuple[float, float, float, float], ...], ...] = (
    ((0, 0, 0.22, 1), (0.22, 0.8, 0.8, 1), (0.22, 0.4, 0.7, 0.58)),
    ((0, 0, 0.22, 1), (0.22, 0, 0.8, 0.2)),
    ((0, 0.8, 0.8, 1), (0.3, 0, 0.52, 0.8)),
    ((0, 0, 0.22, 1), (0.58, 0, 0.8, 1), (0.22, 0.4, 0.58, 0.6)),
    ((0, 0, 0.22, 1), (0.58, 0, 0.8, 1), (0.22, 0, 0.58, 0.2), (0.22, 0.8, 0.58, 1)),
    ((0.25, 0, 0.5, 1),),
)


class Flanks(NamedTuple):
    """A part of both flanks of a vehicle."""

    x: tuple[float, float]
    z: tuple[float, float]
    half_width: HalfWidth


def decal(mesh: MeshBuilder, rng: np.random.Generator, where: Flanks) -> None:
    """A field with lettering on both flanks, somewhere in this part."""
    x, z, half_width = where
    field, ink = varied(rng, weighted(rng, PAINTS)), varied(rng, weighted(rng, PAINTS))
    low = z[0] + (z[1] - z[0]) * between(rng, 0.0, 0.35)
    high = z[1] - (z[1] - z[0]) * between(rng, 0.0, 0.3)
    left, right = x[0] + (x[1] - x[0]) * between(rng, 0.0, 0.2), x[1] - (x[1] - x[0]) * between(rng, 0.0, 0.2)
    if chance(rng, 0.6):
        slant = between(rng, -0.3, 0.3)
        mesh.both_sides([(left, low), (left + slant, high), (right, high), (right - slant, low)], half_width, field)
    across, along = (left + 0.15, right - 0.15), (low + (high - low) * 0.3, low + (high - low) * 0.75)
    lettering(mesh, rng, Flanks(across, along, half_width), ink)


def lettering(mesh: MeshBuilder, rng: np.random.Generator, where: Flanks, ink: Colour) -> None:
    """A word of block letters that fills the part's height and at most its length."""
    x, z, half_width = where
    size = z[1] - z[0]
    count = min(int((x[1] - x[0]) / max(size, 0.05)), int(rng.integers(3, 9)))
    start = x[0] + max(x[1] - x[0] - count * size, 0) * rng.random()
    glyphs = [LETTERS[int(rng.integers(len(LETTERS)))] for _ in range(count)]
    for side in (-1.0, 1.0):
        for place, glyph in enumerate(glyphs):
            for x0, z0, x1, z1 in glyph:
                # Forward is to the right on the right flank and to the left on the left one.
                a, b = (-side * (place - count / 2 + share) * size + start + count * size / 2 for share in (x0, x1))
                c, d = z[0] + z0 * size, z[0] + z1 * size
                mesh.flank([(a, c), (a, d), (b, d), (b, c)], half_width, ink, side)
