"""Where tracks are expected: constant-velocity Kalman filters, one per coordinate, all tracks of a stream at once.

The coordinates of a shape are filtered apart, each with its speed, so a covariance is three numbers and no matrix is
inverted. All noise is relative to the box's size and grows with the time passed, not with frames.

Boxes are arrays: ``corners`` are n × 4 (x_min … y_max), ``shapes`` n × 4 (centre x, y; logarithm of width, height).
Sizes are kept as logarithms: they stay positive, and noise of a share of the size is noise of one strength.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from operators.frames.frame import Region, boxes_of

Array = NDArray[np.float64]

LEAST_SIZE, LARGEST_SIZE = 1e-4, 3.0
"""Bounds of a box's width and height; the frame is 1."""
LOWEST, HIGHEST = -1.0, 2.0
"""Bounds of a corner: what lies further outside the frame is moved here."""
_LEAST = np.array([LOWEST, LOWEST, np.log(LEAST_SIZE), np.log(LEAST_SIZE)])
_MOST = np.array([HIGHEST, HIGHEST, np.log(LARGEST_SIZE), np.log(LARGEST_SIZE)])


def corners_of(regions: Sequence[Region]) -> Array:
    """The regions' boxes, which are finite, within bounds."""
    return boxes_of(regions).clip(LOWEST, HIGHEST)


def shapes_of(corners: Array) -> Array:
    """Centre and logarithm of the size."""
    size = np.clip(corners[:, 2:] - corners[:, :2], LEAST_SIZE, LARGEST_SIZE)
    return np.hstack(((corners[:, :2] + corners[:, 2:]) / 2, np.log(size)))


def bounded(shapes: Array) -> Array:
    """The nearest shapes within the bounds of corners and sizes."""
    return np.asarray(np.minimum(np.maximum(shapes, _LEAST), _MOST))


MEASURED = np.array([0.11, 0.11, 0.14, 0.14])
"""Standard deviation of a detector's box: of the centre in sizes, of the size in logarithms."""
FIRST_SPEED = np.array([5.0, 2.5, 0.6, 0.6])
"""Standard deviation of the speed, per second, of a box that was seen once."""
RESTLESS = np.array([1.0, 0.5, 0.3, 0.3])
"""Standard deviation of a speed's change in the square root of a second."""


@dataclass(frozen=True, slots=True)
class TrackMotions:
    """Estimates of n tracks: ``values`` are 5 × n × 4, the last axis being the coordinates of a shape."""

    values: Array

    def __len__(self) -> int:
        return int(self.values.shape[1])

    @property
    def shape(self) -> Array:
        """Where the boxes are expected, n × 4."""
        return self._part(0)

    @property
    def speed(self) -> Array:
        """Change of the shape per second."""
        return self._part(1)

    @property
    def shape_variance(self) -> Array:
        return self._part(2)

    @property
    def covariance(self) -> Array:
        return self._part(3)

    @property
    def speed_variance(self) -> Array:
        return self._part(4)

    def _part(self, place: int) -> Array:
        part: Array = self.values[place]
        return part

    def kept(self, which: NDArray[np.intp]) -> TrackMotions:
        return TrackMotions(self.values[:, which])

    def joined(self, other: TrackMotions) -> TrackMotions:
        return TrackMotions(np.concatenate((self.values, other.values), axis=1))

    def with_changed(self, which: NDArray[np.intp], changed: TrackMotions) -> TrackMotions:
        """The tracks, with those at these places replaced."""
        values = self.values.copy()
        values[:, which] = changed.values
        return TrackMotions(values)


def begin(shapes: Array) -> TrackMotions:
    """Tracks of boxes that were seen once: nothing is known of their speed but its spread."""
    scale = _scale(shapes)
    values = np.zeros((5, *shapes.shape))
    values[0], values[2], values[4] = shapes, (MEASURED * scale) ** 2, (FIRST_SPEED * scale) ** 2
    return TrackMotions(values)


def predict(motion: TrackMotions, elapsed_s: float) -> TrackMotions:
    """The tracks after this time, if nothing was seen of them."""
    noise = (RESTLESS * _scale(motion.shape)) ** 2 * elapsed_s
    values = motion.values.copy()
    values[0] = bounded(motion.shape + elapsed_s * motion.speed)
    values[3] += elapsed_s * (motion.speed_variance + noise / 2)
    values[2] += elapsed_s * (motion.covariance + values[3] - noise * (elapsed_s / 6))
    values[4] += noise
    return TrackMotions(values)


def correct(motion: TrackMotions, shapes: Array) -> TrackMotions:
    """The tracks once each was seen, at these shapes."""
    spread = motion.shape_variance + (MEASURED * _scale(shapes)) ** 2
    gain, speed_gain = motion.shape_variance / spread, motion.covariance / spread
    surprise = shapes - motion.shape
    values = motion.values.copy()
    values[0] = bounded(motion.shape + gain * surprise)
    values[1] += speed_gain * surprise
    values[2:4] *= 1 - gain
    values[4] -= speed_gain * motion.covariance
    return TrackMotions(values)


def _scale(shapes: Array) -> Array:
    """Return the unit of each coordinate: the box's size for the centre, 1 for the logarithms."""
    scale = np.ones_like(shapes)
    np.exp(shapes[:, 2:], out=scale[:, :2])
    return scale
