"""Minibuses, and the vans of the same shape."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from datasets.street.actors.cars import DARK, LAMP, TAIL, cabin_width, paint_of, wheels
from datasets.street.actors.decals import Flanks, decal
from datasets.street.drawing.mesh import GLASS, HalfWidth, Mesh, MeshBuilder
from datasets.street.drawing.palette import between, chance, scaled, varied
from datasets.street.drawing.sprite import Colour

Rng = np.random.Generator


class Shell(NamedTuple):
    """The outline of a one-box vehicle: places from the tail to the nose, then heights, metres."""

    rear: float
    roof_front: float
    cowl: float
    front: float
    clear: float
    belt: float
    height: float
    half: HalfWidth


def minibus(rng: Rng, paint: Colour | None = None) -> Mesh:
    """A high one-box vehicle: rows of windows, or closed panels with a firm's lettering; ``paint``: as for a car."""
    length, height, width = between(rng, 4.9, 7.0), between(rng, 2.1, 2.75), between(rng, 0.95, 1.05)
    front, rear, clear = length / 2, -length / 2, between(rng, 0.22, 0.32)
    body = paint or (varied(rng, (230, 230, 228)) if chance(rng, 0.6) else paint_of(rng))
    belt = between(rng, 1.15, 1.3)
    cowl = front - between(rng, 0.45, 0.85)
    roof_front = cowl - between(rng, 0.45, 0.95)
    half = cabin_width(width, belt, height, between(rng, 0.06, 0.12))
    mesh = MeshBuilder()
    mesh.section(0.0)
    nose = [(cowl, belt), (front - 0.08, belt - between(rng, 0.15, 0.3)), (front, 0.6), (front - 0.05, clear)]
    outline = [(rear + 0.05, clear), (rear, 0.7), (rear + 0.03, height - 0.12), (rear + 0.16, height)]
    mesh.extrude([*outline, (roof_front, height), *nose], half, body)
    shell = Shell(rear, roof_front, cowl, front, clear, belt, height, half)
    windscreen(mesh, rng, shell)
    flank(mesh, rng, shell, body)
    ends(mesh, rng, shell, nose[1])
    roof(mesh, rng, shell)
    if chance(rng, 0.4):
        stripe = paint_of(rng)
        z = between(rng, 0.65, 0.95)
        mesh.stripe((rear + 0.05, front - 0.2), (z, z + 0.12), half, stripe)
    wheels(mesh, rng, (rear + length * 0.2, front - length * 0.15), between(rng, 0.33, 0.4), width)
    return mesh.build()


def windscreen(mesh: MeshBuilder, rng: Rng, shell: Shell) -> None:
    """The sloping front window with a reflection."""
    foot, top, half = (shell.cowl, shell.belt), (shell.roof_front, shell.height), shell.half
    tint = varied(rng, GLASS, 10)
    mesh.panel(foot, top, half, (-0.92, 0.92), (0.06, 0.8), tint, (1, 0, 0.4))
    mesh.panel(foot, top, half, (-0.6, 0.0), (0.25, 0.8), scaled(tint, 1.6), (1, 0, 0.4))


def flank(mesh: MeshBuilder, rng: Rng, shell: Shell, body: Colour) -> None:
    """Side windows: the driver's, then either a row for passengers or a closed panel."""
    rear, roof_front, cowl = shell.rear, shell.roof_front, shell.cowl
    belt, height, half = shell.belt, shell.height, shell.half
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
        mesh.stripe((edge, edge + 0.035), (0.4, high), half, scaled(body, 0.6))
    if chance(rng, 0.72):
        count = int(rng.integers(2, 5))
        cuts = np.linspace(rear + 0.25, end, count + 1)
        for a, b in zip(cuts[:-1] + 0.05, cuts[1:] - 0.05, strict=True):
            mesh.stripe((a, b), (low, high), half, tint)
            mesh.both_sides(
                [(a, (low + high) / 2), (a, high), (b, high), ((a + b) / 2, (low + high) / 2)], half, scaled(tint, 1.5)
            )
    elif chance(rng, 0.7):
        decal(mesh, rng, Flanks((rear + 0.5, end - 0.4), (0.75, high), half))


def ends(mesh: MeshBuilder, rng: Rng, shell: Shell, bonnet: tuple[float, float]) -> None:
    """Lamps, grille, bumpers, rear doors and their windows."""
    rear, front, half = shell.rear, shell.front, shell.half
    belt, height, clear = shell.belt, shell.height, shell.clear
    for u in ((-0.97, -0.62), (0.62, 0.97)):
        mesh.panel(bonnet, (front, 0.6), half, u, (0.05, 0.6), LAMP, (1, 0, 0.1))
    mesh.panel(bonnet, (front, 0.6), half, (-0.55, 0.55), (0.3, 0.9), DARK, (1, 0, 0.1))
    mesh.panel((front, 0.6), (front - 0.05, clear), half, (-0.95, 0.95), (0.3, 1), DARK, (1, 0, 0))
    mesh.both_sides([(front - 0.4, 0.86), (front - 0.1, 0.88), (front - 0.03, 0.7), (front - 0.34, 0.7)], half, LAMP)
    back, top = (rear, 0.7), (rear + 0.03, height - 0.12)
    mesh.panel(back, top, half, (-0.02, 0.02), (0, 1), DARK, (-1, 0, 0))
    for side in (-1.0, 1.0):
        mesh.panel(back, top, half, (side * 0.98, side * 0.86), (0.05, 0.4), TAIL, (-1, 0, 0))
        if chance(rng, 0.7):
            mesh.panel(back, top, half, (side * 0.78, side * 0.1), (0.42, 0.82), GLASS, (-1, 0, 0))
    mesh.stripe((rear + 0.02, rear + 0.14), (0.8, belt), half, TAIL)
    mesh.stripe((rear + 0.06, front - 0.06), (clear, clear + 0.12), half, DARK)


def roof(mesh: MeshBuilder, rng: Rng, shell: Shell) -> None:
    """Air conditioning, hatches and ribs."""
    rear, front, height, half = shell.rear, shell.roof_front, shell.height, shell.half
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
