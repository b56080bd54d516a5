"""Solid things made of flat faces: vehicles are extruded side views with panels, windows and wheels on them.

Local axes in metres: x forward, y to the left, z up, the origin on the ground below the middle. A mesh consists of
sections along x (cab, trailer); within a section faces are kept in painting order, sections are painted far to near.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from datasets.street.drawing.sprite import Colour, Sprite

Points = NDArray[np.float64]
Profile = Sequence[tuple[float, float]]
HalfWidth = Callable[[float], float]  # of a solid, by height
GLASS = (70, 58, 48)
RUBBER = (32, 30, 30)


@dataclass(frozen=True)
class Pose:
    """Where a thing stands: ground point in world metres, heading (radians from X), the way its wheels have rolled."""

    x: float
    y: float
    heading: float
    rolled_m: float = 0.0

    def to_world(self, local: Points) -> Points:
        """Local points (N×3) → world points."""
        cos, sin = np.cos(self.heading), np.sin(self.heading)
        world: Points = local @ np.array([[cos, sin, 0], [-sin, cos, 0], [0, 0, 1.0]])
        world += (self.x, self.y, 0.0)
        return world

    def to_local(self, world: Points) -> Points:
        """One world point (3) → local axes."""
        cos, sin = np.cos(self.heading), np.sin(self.heading)
        dx, dy = world[0] - self.x, world[1] - self.y
        return np.array([cos * dx + sin * dy, cos * dy - sin * dx, world[2]])


@dataclass(frozen=True)
class Mesh:
    """Faces ready to paint. ``starts[i]:starts[i + 1]`` are face i's vertices."""

    vertices: Points
    starts: NDArray[np.int64]
    colours: Points
    normals: Points
    anchors: Points
    sections: tuple[tuple[float, tuple[int, ...]], ...]
    spinning: NDArray[np.int64]  # vertices that turn with the wheels
    hubs: Points  # hub x, hub z and radius of the wheel of each of them
    size: tuple[float, float, float]  # length, width, height

    def shaded(self, light: Callable[[Points], Points], heading: float) -> Mesh:
        """The mesh with each face's colour multiplied by ``light`` of its normal (world axes)."""
        cos, sin = np.cos(heading), np.sin(heading)
        world = self.normals @ np.array([[cos, sin, 0], [-sin, cos, 0], [0, 0, 1.0]])
        colours = np.clip(self.colours * light(world)[:, None], 0, 255)
        return Mesh(
            self.vertices,
            self.starts,
            colours,
            self.normals,
            self.anchors,
            self.sections,
            self.spinning,
            self.hubs,
            self.size,
        )

    def posed(self, rolled_m: float) -> Points:
        """The vertices with the wheels turned."""
        vertices = self.vertices.copy()
        hub_x, hub_z, radius = self.hubs.T
        cos, sin = np.cos(rolled_m / radius), np.sin(rolled_m / radius)
        dx, dz = vertices[self.spinning, 0] - hub_x, vertices[self.spinning, 2] - hub_z
        vertices[self.spinning, 0] = hub_x + cos * dx + sin * dz
        vertices[self.spinning, 2] = hub_z + cos * dz - sin * dx
        return vertices

    def paint(self, sprite: Sprite, pixels: Points, camera: Points) -> None:
        """Paint the faces that look at ``camera`` (local axes); ``pixels`` are the projected vertices."""
        facing = np.einsum("ij,ij->i", self.normals, camera - self.anchors) > 0
        vertices = sprite.fixed(pixels)
        colours = self.colours.tolist()
        bounds = self.starts.tolist()
        for _, faces in sorted(self.sections, key=lambda section: -abs(section[0] - camera[0])):
            for face in faces:
                if facing[face]:
                    part = vertices[bounds[face] : bounds[face + 1]]
                    sprite.fill(part, colours[face], convex=len(part) <= 4)


@dataclass
class MeshBuilder:
    """Collects faces; every method adds to the current section."""

    points: list[Points] = field(default_factory=list)
    colours: list[Colour] = field(default_factory=list)
    normals: list[Sequence[float]] = field(default_factory=list)
    sections: list[tuple[float, list[int]]] = field(default_factory=list)
    spinning: list[int] = field(default_factory=list)
    hubs: list[tuple[float, float, float]] = field(default_factory=list)
    count: int = 0

    def section(self, x: float) -> None:
        """Begin a new section with its middle at ``x``."""
        self.sections.append((x, []))

    def face(self, points: Sequence[Sequence[float]] | Points, colour: Colour, outward: Sequence[float]) -> slice:
        """One flat polygon that is seen from the side to which ``outward`` points; returns its vertex slice."""
        corners = [(float(x), float(y), float(z)) for x, y, z in points]
        normal = normal_of(corners, outward)
        array = np.array(corners)
        self.sections[-1][1].append(len(self.points))
        self.points.append(array)
        self.colours.append(colour)
        self.normals.append(normal)
        self.count += len(array)
        return slice(self.count - len(array), self.count)

    def both_sides(self, outline: Profile, half_width: HalfWidth, colour: Colour) -> None:
        """A polygon (x, z) on the left and on the right flank, whose half width may vary with z."""
        for side in (1.0, -1.0):
            self.flank(outline, half_width, colour, side)

    def flank(self, outline: Profile, half_width: HalfWidth, colour: Colour, side: float) -> None:
        """A polygon (x, z) on the left (``side`` 1) or right (-1) flank."""
        self.face([(x, side * half_width(z), z) for x, z in outline], colour, (0, side, 0.2))

    def stripe(self, x: tuple[float, float], z: tuple[float, float], half_width: HalfWidth, colour: Colour) -> None:
        """An upright rectangle on the left and on the right flank."""
        self.both_sides([(x[0], z[0]), (x[0], z[1]), (x[1], z[1]), (x[1], z[0])], half_width, colour)

    def extrude(self, outline: Profile, half_width: HalfWidth, colour: Colour) -> None:
        """A solid with this side view (x, z), closed all around."""
        middle_x = sum(x for x, _ in outline) / len(outline)
        middle_z = sum(z for _, z in outline) / len(outline)
        for (xa, za), (xb, zb) in pairwise([*outline, outline[0]]):
            outward = (zb - za, 0.0, xa - xb)
            if outward[0] * ((xa + xb) / 2 - middle_x) + outward[2] * ((za + zb) / 2 - middle_z) < 0:
                outward = (za - zb, 0.0, xb - xa)
            if abs(outward[0]) + abs(outward[2]) > 0.02:
                self.face(strip((xa, za), (xb, zb), half_width), colour, outward)
        self.both_sides(outline, half_width, colour)

    def box(self, x: tuple[float, float], half_width: float, z: tuple[float, float], colour: Colour) -> None:
        """A cuboid."""
        outline = [(x[0], z[0]), (x[0], z[1]), (x[1], z[1]), (x[1], z[0])]
        self.extrude(outline, straight(half_width), colour)

    def panel(
        self,
        a: tuple[float, float],
        b: tuple[float, float],
        half_width: HalfWidth,
        across: tuple[float, float],
        along: tuple[float, float],
        colour: Colour,
        outward: Sequence[float],
    ) -> None:
        """A rectangle on the strip over the edge a → b; ``across`` in -1…1 of the width, ``along`` in 0…1 of it."""
        (xa, za), (xb, zb) = a, b

        def at(u: float, v: float) -> tuple[float, float, float]:
            x, z = xa + (xb - xa) * v, za + (zb - za) * v
            return x, u * half_width(z), z

        corners = [at(across[0], along[0]), at(across[1], along[0]), at(across[1], along[1]), at(across[0], along[1])]
        self.face(corners, colour, outward)

    def wheel(self, x: float, radius: float, half_width: float, rim: Colour, spokes: int = 5) -> None:
        """A pair of wheels at ``x``: tyre, rim and turning spokes on both flanks."""
        for side in (1.0, -1.0):
            self.face(ring(x, radius, radius, side * (half_width - 0.22)), RUBBER, (0, side, 0))
            self.face(ring(x, radius, radius, side * half_width), RUBBER, (0, side, 0))
            self.face(ring(x, radius, radius * 0.66, side * half_width), rim, (0, side, 0))
            dark = [channel * 0.45 for channel in rim]
            for spoke in range(spokes):
                angle = 2 * np.pi * spoke / spokes
                part = self.face(blade(x, radius, angle, side * half_width), dark, (0, side, 0))
                self.spinning.extend(range(part.start, part.stop))
                self.hubs.extend([(x, radius, radius)] * (part.stop - part.start))

    def build(self) -> Mesh:
        """The finished mesh."""
        vertices = np.concatenate(self.points)
        starts = np.cumsum([0, *(len(points) for points in self.points)])
        size = np.ptp(vertices, axis=0)
        return Mesh(
            vertices,
            starts,
            np.array(self.colours, float),
            np.array(self.normals),
            np.array([points[0] for points in self.points]),
            tuple((x, tuple(faces)) for x, faces in self.sections),
            np.array(self.spinning, np.int64),
            np.array(self.hubs, float).reshape(-1, 3),
            (float(size[0]), float(size[1]), float(size[2])),
        )


def normal_of(corners: Sequence[tuple[float, float, float]], outward: Sequence[float]) -> tuple[float, float, float]:
    """Unit normal of a flat polygon on the side of ``outward``, by Newell's sum, in plain floats."""
    nx = ny = nz = 0.0
    for (ax, ay, az), (bx, by, bz) in zip(corners, (*corners[1:], corners[0]), strict=True):
        nx += (ay - by) * (az + bz)
        ny += (az - bz) * (ax + bx)
        nz += (ax - bx) * (ay + by)
    length = math.sqrt(nx * nx + ny * ny + nz * nz) + 1e-9
    if nx * outward[0] + ny * outward[1] + nz * outward[2] < 0:
        length = -length
    return nx / length, ny / length, nz / length


def straight(width: float) -> HalfWidth:
    """A half width that is the same at every height."""
    return lambda _: width


def strip(a: tuple[float, float], b: tuple[float, float], half_width: HalfWidth) -> list[list[float]]:
    """The face between the flanks over the edge a → b of a side view."""
    (xa, za), (xb, zb) = a, b
    ya, yb = half_width(za), half_width(zb)
    return [[xa, ya, za], [xb, yb, zb], [xb, -yb, zb], [xa, -ya, za]]


def ring(x: float, hub_z: float, radius: float, y: float) -> Points:
    """A disc standing in the x-z plane."""
    angles = np.linspace(0, 2 * np.pi, 14, endpoint=False)
    return np.stack([x + radius * np.cos(angles), np.full(14, y), hub_z + radius * np.sin(angles)], axis=1)


def blade(x: float, radius: float, angle: float, y: float) -> Points:
    """The dark gap between two spokes of a wheel that stands on the ground."""
    angles = angle + np.array([-0.28, 0.28, 0.12, -0.12])
    reach = radius * np.array([0.58, 0.58, 0.2, 0.2])
    return np.stack([x + reach * np.cos(angles), np.full(4, y), radius + reach * np.sin(angles)], axis=1)
