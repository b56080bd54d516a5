"""A pinhole camera that looks down on the street.

World axes in metres: X along the street to the right, Y away from the camera, Z up; the camera stands at
(0, 0, ``height_m``), turned by ``yaw`` about Z and tilted down by ``pitch`` (radians).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Points = NDArray[np.float64]
NEAR_M = 1.0


@dataclass(frozen=True)
class Camera:
    """Projects world points to pixels; ``focal`` is the focal length in picture widths."""

    width: int
    height: int
    height_m: float
    yaw: float
    pitch: float
    focal: float

    @cached_property
    def rotation(self) -> Points:
        """3×3, world → camera (right, down, forward)."""
        sin_yaw, cos_yaw = np.sin(self.yaw), np.cos(self.yaw)
        sin_pitch, cos_pitch = np.sin(self.pitch), np.cos(self.pitch)
        forward = np.array([sin_yaw * cos_pitch, cos_yaw * cos_pitch, -sin_pitch])
        right = np.array([cos_yaw, -sin_yaw, 0.0])
        return np.stack([right, np.cross(forward, right), forward])

    @cached_property
    def position(self) -> Points:
        """Where the camera stands (3)."""
        return np.array([0.0, 0.0, self.height_m])

    @cached_property
    def focal_px(self) -> float:
        """Focal length in pixels."""
        return self.focal * self.width

    def project(self, points: Points) -> tuple[Points, Points]:
        """World points (N×3) → pixels (N×2) and depths along the optical axis (N), which are at least ``NEAR_M``."""
        local = (points - self.position) @ self.rotation.T
        depth = np.maximum(local[:, 2], NEAR_M)
        pixels = local[:, :2] * (self.focal_px / depth)[:, None]
        pixels += (self.width / 2, self.height / 2)
        return pixels, depth

    def pixels_per_metre(self, point: Points) -> float:
        """Scale at a world point (3)."""
        return self.focal_px / max(float(self.rotation[2] @ (point - self.position)), NEAR_M)

    def rays(self, supersample: int) -> NDArray[np.float32]:
        """Direction in world axes of every pixel of a ``supersample`` times larger picture (H×W×3)."""
        columns = (np.arange(self.width * supersample) + 0.5) / supersample - self.width / 2
        rows = (np.arange(self.height * supersample) + 0.5) / supersample - self.height / 2
        grid = np.empty((len(rows), len(columns), 3), np.float32)
        grid[..., 0] = columns[None, :] / self.focal_px
        grid[..., 1] = rows[:, None] / self.focal_px
        grid[..., 2] = 1.0
        return grid @ self.rotation.astype(np.float32)

    def span_m(self, y: float) -> tuple[float, float]:
        """The stretch of X that is in the picture at distance ``y``, at ground level."""
        half = np.arctan(0.5 / self.focal)
        left, right = self.yaw - half, self.yaw + half
        limit = np.radians(78.0)
        return float(y * np.tan(max(left, -limit))), float(y * np.tan(min(right, limit)))
