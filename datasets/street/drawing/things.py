"""Things on the street, made of faces or of balls; both are drawn to a sprite and cast a shadow."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from datasets.street.drawing import figure
from datasets.street.drawing.camera import Camera
from datasets.street.drawing.figure import Blob
from datasets.street.drawing.mesh import Mesh, Pose
from datasets.street.drawing.sprite import Sprite

Points = NDArray[np.float64]


class Thing(Protocol):
    """Anything with a shape: ``length_m`` along its heading, and points that span its silhouette."""

    @property
    def length_m(self) -> float:
        """Length along the heading."""

    def draw(self, camera: Camera, pose: Pose) -> Sprite | None:
        """Its picture in daylight; None when it is out of the frame."""

    def outline(self, pose: Pose) -> Points:
        """World points (N×3) whose hull holds it; none if it is too slight to cast a shadow."""

    def lamps(self, pose: Pose) -> tuple[Points, Points]:
        """World points of its headlamps and of its tail lamps (N×3 each, N may be 0)."""


@dataclass(frozen=True)
class Solid:
    """A thing of flat faces; its mesh is already shaded for its heading."""

    mesh: Mesh
    lit: bool = True

    @property
    def length_m(self) -> float:
        """Length along the heading."""
        return self.mesh.size[0]

    def draw(self, camera: Camera, pose: Pose) -> Sprite | None:
        """Its picture in daylight."""
        pixels, _ = camera.project(pose.to_world(self.mesh.posed(pose.rolled_m)))
        sprite = Sprite.around(pixels, 4, (camera.width, camera.height))
        if sprite is not None:
            self.mesh.paint(sprite, pixels, pose.to_local(camera.position))
        return sprite

    @cached_property
    def corners(self) -> Points:
        """The eight corners of its bounding box, local axes."""
        low, high = self.mesh.vertices.min(axis=0), self.mesh.vertices.max(axis=0)
        grid = np.meshgrid([low[0], high[0]], [low[1], high[1]], [0.0, high[2]])
        return np.stack([axis.ravel() for axis in grid], axis=1)

    def outline(self, pose: Pose) -> Points:
        """The corners of its bounding box."""
        return pose.to_world(self.corners)

    def lamps(self, pose: Pose) -> tuple[Points, Points]:
        """A pair in front and a pair behind."""
        half, wide = self.mesh.size[0] / 2, self.mesh.size[1] * 0.38
        if not self.lit:
            return np.empty((0, 3)), np.empty((0, 3))
        front = np.array([[half, wide, 0.72], [half, -wide, 0.72]])
        back = np.array([[-half, wide, 0.85], [-half, -wide, 0.85]])
        return pose.to_world(front), pose.to_world(back)


@dataclass(frozen=True)
class Figure:
    """A thing of balls; ``shape`` gives its blobs for the way gone and whether it is seen from its left."""

    shape: Callable[[float, bool], list[Blob]]
    length_m: float
    height_m: float
    headlamp_m: float | None = None
    casts: bool = True

    def draw(self, camera: Camera, pose: Pose) -> Sprite | None:
        """Its picture in daylight."""
        blobs = self.shape(pose.rolled_m, pose.to_local(camera.position)[1] > 0)
        balls = figure.balls_of(blobs)
        pixels, depth = camera.project(pose.to_world(balls[:, :3]))
        radii = balls[:, 3] * camera.focal_px / depth
        sprite = Sprite.around(pixels, int(radii.max()) + 2, (camera.width, camera.height))
        if sprite is not None:
            figure.paint(sprite, blobs, pixels, radii)
        return sprite

    def outline(self, pose: Pose) -> Points:
        """An upright box around it, or nothing."""
        if not self.casts:
            return np.empty((0, 3))
        half = self.length_m / 2
        local = [[x, y, z] for x in (-half, half) for y in (-0.2, 0.2) for z in (0.0, self.height_m)]
        return pose.to_world(np.array(local))

    def lamps(self, pose: Pose) -> tuple[Points, Points]:
        """One lamp in front and one behind, if it has a headlamp."""
        if self.headlamp_m is None:
            return np.empty((0, 3)), np.empty((0, 3))
        half = self.length_m / 2 * 0.8
        front, back = [[half, 0.0, self.headlamp_m]], [[-half, 0.0, self.headlamp_m * 0.8]]
        return pose.to_world(np.array(front)), pose.to_world(np.array(back))
