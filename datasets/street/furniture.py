"""Furniture along the street: trees that sway, lamps, signs, bins, benches, planters, a shelter, parked cars."""

from __future__ import annotations

import math
from dataclasses import dataclass

import cv2
import numpy as np

from datasets.street.actors.cars import car
from datasets.street.drawing.figure import Blob, limb
from datasets.street.drawing.mesh import Mesh, MeshBuilder, Pose
from datasets.street.drawing.palette import PAINTS, between, chance, pick, scaled, varied, weighted
from datasets.street.drawing.sprite import Sprite
from datasets.street.drawing.things import Figure, Solid, Thing
from datasets.street.surroundings.layout import Layout, Standing
from datasets.street.traffic import shading

Rng = np.random.Generator
POLE = (96, 98, 98)


@dataclass(frozen=True)
class Fixture:
    """A standing thing drawn once: ``layers`` are its sprites, those of a tree's crown sway."""

    kind: str
    x: float
    y: float
    layers: tuple[Sprite, ...]
    phase: float

    @property
    def sways(self) -> bool:
        """Whether it looks different from frame to frame."""
        return self.kind == "tree"

    def at(self, time_s: float) -> tuple[Sprite, ...]:
        """Its sprites at this time."""
        if not self.sways:
            return self.layers
        sways = ((0.9, 0.014), (1.7, 0.02), (2.3, 0.028))
        return tuple(
            sheared(
                layer,
                amount
                * (0.6 * math.sin(rate * time_s + self.phase) + 0.4 * math.sin(2.7 * rate * time_s + self.phase)),
            )
            for layer, (rate, amount) in zip(self.layers, sways, strict=True)
        )


def sheared(sprite: Sprite, lean: float) -> Sprite:
    """The sprite leaning sideways by this share of its height, its foot fixed."""
    height, width = sprite.pixels.shape[:2]
    shear = np.array([[1, -lean, lean * height], [0, 1, 0]], np.float32)
    return Sprite(cv2.warpAffine(sprite.pixels, shear, (width, height)), sprite.left, sprite.top)


def furnish(layout: Layout) -> list[Fixture]:
    """All standing things of the layout that are in its picture."""
    fixtures = []
    for item in layout.standing:
        rng = np.random.default_rng([item.seed, 5])
        pose = Pose(item.x, item.y, 0.0)
        sprites = [thing.draw(layout.camera, pose) for thing in things_of(rng, layout, item)]
        if all(sprite is not None for sprite in sprites):
            layers = tuple(sprite for sprite in sprites if sprite is not None)
            fixtures.append(Fixture(item.kind, item.x, item.y, layers, between(rng, 0, 6)))
    return fixtures


def things_of(rng: Rng, layout: Layout, item: Standing) -> list[Thing]:
    """The parts of this item; three layers for a tree."""
    light = shading(layout)
    if item.kind == "tree":
        return [Figure(lambda way, left, part=part: part, 3.0, 6.0) for part in tree(rng)]  # type: ignore[misc]
    if item.kind in ("lamp", "sign"):
        blobs = lamp() if item.kind == "lamp" else sign(rng)
        return [Figure(lambda way, left: blobs, 1.0, 5.0)]
    if item.kind == "parked":
        return [Solid(car(rng).shaded(light, 0.0), lit=False)]
    return [Solid(boxes(rng, item.kind).shaded(light, 0.0), lit=False)]


def tree(rng: Rng) -> list[list[Blob]]:
    """Trunk, back of the crown, front of the crown."""
    height, spread = between(rng, 4.2, 7.0), between(rng, 1.0, 1.9)
    leaf = varied(rng, pick(rng, ((58, 116, 78), (66, 128, 96), (50, 96, 70), (70, 140, 130))), 16)
    trunk = [limb((62, 78, 92), (0.16, 0.09), (0, 0, 0), (0, 0, height * 0.6))]
    trunk += [
        limb((62, 78, 92), (0.07, 0.04), (0, 0, height * 0.42), (dx * spread, 0, height * 0.68)) for dx in (-0.5, 0.5)
    ]
    layers = [trunk]
    for count, gain in ((16, 0.8), (18, 1.08)):
        crown = []
        for _ in range(count):
            angle, reach = rng.uniform(0, 2 * math.pi), spread * math.sqrt(rng.uniform(0, 1))
            x, z = reach * math.cos(angle), height * 0.75 + reach * 0.95 * math.sin(angle)
            shade = gain * (0.9 + 0.2 * (z - height * 0.75) / spread)
            crown.append(
                Blob(
                    scaled(varied(rng, leaf, 6), shade),
                    ((x, between(rng, -0.4, 0.4), z, spread * between(rng, 0.2, 0.36)),),
                )
            )
        layers.append(crown)
    return layers


def lamp() -> list[Blob]:
    """A street lamp whose arm reaches over the road."""
    return [
        limb(POLE, (0.09, 0.05), (0, 0, 0), (0, 0, 5.6)),
        limb(POLE, (0.045, 0.045), (0, 0, 5.6), (0, -1.0, 5.8)),
        limb((190, 214, 224), (0.1, 0.07), (0, -0.9, 5.74), (0, -1.3, 5.76)),
    ]


def sign(rng: Rng) -> list[Blob]:
    """A pole with a round or square sign."""
    face = weighted(rng, (((40, 40, 190), 2.0), ((170, 90, 40), 2.0), ((60, 190, 220), 1.0)))
    plate = Blob(face, tuple((dx, -0.06, z, 0.03) for dx in (-0.26, 0.26) for z in (2.3, 2.8)))
    if chance(rng, 0.6):
        plate = Blob(face, ((0, -0.06, 2.5, 0.32),))
    return [limb(POLE, (0.045, 0.045), (0, 0, 0), (0, 0, 2.8)), plate, Blob((232, 232, 232), ((0, -0.1, 2.5, 0.17),))]


def boxes(rng: Rng, kind: str) -> Mesh:
    """Furniture that is made of boxes."""
    mesh = MeshBuilder()
    mesh.section(0.0)
    if kind == "bin":
        mesh.box((-0.25, 0.25), 0.25, (0, 0.95), varied(rng, weighted(rng, PAINTS)))
        mesh.box((-0.28, 0.28), 0.28, (0.95, 1.05), (60, 62, 62))
    elif kind == "bench":
        wood = varied(rng, (70, 104, 140))
        for x in (-0.7, 0.6):
            mesh.box((x, x + 0.08), 0.2, (0, 0.42), (60, 60, 60))
        mesh.box((-0.85, 0.85), 0.22, (0.42, 0.5), wood)
        mesh.face(
            [(-0.85, 0.22, 0.5), (0.85, 0.22, 0.5), (0.85, 0.26, 0.9), (-0.85, 0.26, 0.9)],
            scaled(wood, 1.1),
            (0, -1, 0.2),
        )
    elif kind == "planter":
        mesh.box((-0.7, 0.7), 0.3, (0, 0.5), varied(rng, (120, 130, 140)))
        for x in np.arange(-0.6, 0.6, 0.2):
            mesh.box((x, x + 0.22), 0.25, (0.5, 0.5 + between(rng, 0.2, 0.5)), varied(rng, (60, 120, 80), 26))
    elif kind == "shelter":
        mesh.box((-2.0, 2.0), 0.6, (2.35, 2.5), (92, 92, 94))
        mesh.face([(-1.9, 0.6, 0.3), (1.9, 0.6, 0.3), (1.9, 0.6, 2.3), (-1.9, 0.6, 2.3)], (176, 170, 150), (0, -1, 0))
        for x in (-1.95, 1.85):
            mesh.box((x, x + 0.1), 0.6, (0, 2.35), (92, 92, 94))
    else:
        mesh.box((-0.07, 0.07), 0.07, (0, 0.95), (70, 72, 74))
        mesh.box((-0.08, 0.08), 0.08, (0.72, 0.82), (224, 224, 224))
    return mesh.build()
