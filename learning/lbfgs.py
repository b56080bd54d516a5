"""Finds where a smooth convex function is least: L-BFGS (Liu and Nocedal, 1989, algorithm 2.1). Pure.

The step along a direction is found by bisection until it meets the weak Wolfe conditions (Lewis and Overton, 2013,
algorithm 2.6). SciPy has the same; whoever trains a head need not import its optimisers.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]
Function = Callable[[Vector], tuple[float, Vector]]
"""A point's value and slope."""
Pair = tuple[Vector, Vector]
"""A step, and how the slope changed along it."""

REMEMBERED = 10
"""Pairs that stand for the curvature."""
SUFFICIENT, CURVATURE = 1e-4, 0.9
"""The constants of the Wolfe conditions, as in both papers."""
MOST_TRIES = 20
"""Points that are tried along one direction."""


def minimised(function: Function, start: Vector, most_steps: int, flat: float, gain: float) -> Vector:
    """Return the point that was reached from ``start``.

    It ends where no part of the slope is above ``flat``, where a step brought less than ``gain`` of the value, after
    ``most_steps``, or where rounding errors leave no step that leads down.

    >>> minimised(lambda x: (float((x - 3) @ (x - 3)), 2 * (x - 3)), np.zeros(2), 20, 1e-6, 0.0)
    array([3., 3.])
    """
    point, (value, slope) = start, function(start)
    pairs: deque[Pair] = deque(maxlen=REMEMBERED)
    for _ in range(most_steps):
        if np.abs(slope).max() <= flat:
            break
        direction = -_by_curvature(pairs, slope)
        first = 1.0 if pairs else min(1.0, 1.0 / float(np.abs(slope).sum()))
        step = _step(function, point, value, slope, direction, first)
        if step is None:
            break
        moved, lower, next_slope = step
        pairs.append((moved - point, next_slope - slope))
        gained = (value - lower) / max(abs(value), abs(lower), 1.0)
        point, value, slope = moved, lower, next_slope
        if gained <= gain:
            break
    return point


def _by_curvature(pairs: Sequence[Pair], slope: Vector) -> Vector:
    """The slope times the inverse of the curvature that the pairs tell of: the two loops of the paper."""
    found, shares = slope.copy(), []
    for moved, changed in reversed(pairs):
        share = (moved @ found) / (changed @ moved)
        found -= share * changed
        shares.append(share)
    if pairs:
        moved, changed = pairs[-1]
        found *= (moved @ changed) / (changed @ changed)
    for (moved, changed), share in zip(pairs, reversed(shares), strict=True):
        found += (share - (changed @ found) / (changed @ moved)) * moved
    return found


def _step(
    function: Function, point: Vector, value: float, slope: Vector, direction: Vector, first: float
) -> tuple[Vector, float, Vector] | None:
    """The next point with its value and slope; None where there is no step that meets the conditions."""
    down = float(slope @ direction)
    low, high, length = 0.0, math.inf, first
    for _ in range(MOST_TRIES):
        moved = point + length * direction
        there, next_slope = function(moved)
        if there > value + SUFFICIENT * length * down:
            high = length
        elif float(next_slope @ direction) < CURVATURE * down:
            low = length
        else:
            return moved, there, next_slope
        length = (low + high) / 2 if high < math.inf else 2 * low
    return None
