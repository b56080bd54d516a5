"""Which box belongs to which track: a cost for every pair, a gate, and the assignment that costs least. Pure.

A few rows and columns are assigned by shortest augmenting paths. Rows are entered one by one. Each takes the column at
the end of the shortest path that leads through columns taken already, whose rows move on by one (Jonker & Volgenant,
1987, without their initialisation). ``scipy.optimize`` has the same, but every run has conflicts, nearly all of two to
eight boxes: they take .015 ms here and .001 ms there, and the import takes .3 to .4 s, a third of what a run's start
may take.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

import numpy as np
from numpy.typing import NDArray

from operators.track.kalman import Array, TrackMotions

FREE = -1
Costs = Sequence[Sequence[float]]


def least_cost(costs: Costs) -> list[int]:
    """Rows × columns, at least as many columns as rows → the column of each row, such that they cost least together."""
    width = len(costs[0])
    prices, owners = [0.0] * width, [FREE] * width
    for row in range(len(costs)):
        _enter(row, costs, prices, owners)
    return [owners.index(row) for row in range(len(costs))]


def _enter(row: int, costs: Costs, prices: list[float], owners: list[int]) -> None:
    """Give the row a column; ``prices`` of columns are such that no row would gain by another one's column."""
    width = len(prices)
    far, through, reached = [inf] * width, [FREE] * width, list[int]()
    waiting, column, length = set(range(width)), FREE, 0.0
    while column == FREE or owners[column] != FREE:
        at = row if column == FREE else owners[column]
        paid = 0.0 if column == FREE else costs[at][column] - prices[column]
        for other in waiting:
            path = length + costs[at][other] - prices[other] - paid
            if path < far[other]:
                far[other], through[other] = path, column
        column = min(waiting, key=far.__getitem__)
        waiting.remove(column)
        reached.append(column)
        length = far[column]
    for other in reached[:-1]:
        prices[other] += far[other] - length
    while column != FREE:
        before = through[column]
        owners[column] = row if before == FREE else owners[before]
        column = before


WIDENED = 0.5
"""Boxes are widened on every side by this many standard deviations of the expected place, a box size at most."""
FAR = 0.2
"""Cost of a distance of one (widened) box size between the centres; overlap costs 0 (all) to 1 (none)."""
OTHER_LABEL = 0.1
"""Cost of another label: it decides between neighbours and breaks no track."""
ALONE = 1.5
"""Cost of a track and a box that stay without each other."""
SMALL_CONFLICT = 32
"""Up to so many tracks and boxes in conflict are assigned by ``least_cost``; more by SciPy's solver, whose import takes
as long as a hundred of the dearest of them."""

Pairs = list[tuple[int, int]]


def distances_and_costs(tracks: TrackMotions, shapes: Array, other_label: NDArray[np.bool_]) -> tuple[Array, Array]:
    """Tracks × boxes: 1 − intersection over union, and what the pair costs.

    Both boxes are widened by what is not known of the track's place, so a small fast object is found again between two
    frames that show it side by side (after Yang et al., "Make It Easier by Buffering the Matching Space", 2023).
    """
    size = np.exp(tracks.shape[:, 2:])
    margin = 2 * np.minimum(WIDENED * np.sqrt(tracks.shape_variance[:, :2]), size)
    shared = areas = areas_found = np.ones(())
    far = np.zeros(())
    for axis in (0, 1):  # one after the other: a last axis of two would be walked pair by pair
        expected = (size + margin)[:, axis, None]
        found = np.exp(shapes[None, :, 2 + axis]) + margin[:, axis, None]
        apart = np.abs(tracks.shape[:, axis, None] - shapes[None, :, axis])
        common = np.minimum((expected + found) / 2 - apart, np.minimum(expected, found))
        shared = shared * np.clip(common, 0, None)
        areas, areas_found = areas * expected, areas_found * found
        far = far + apart**2 / (expected * found)
    distance = 1 - shared / (areas + areas_found - shared)
    return distance, distance + FAR * np.sqrt(far) + OTHER_LABEL * other_label


def assign(costs: Array, allowed: NDArray[np.bool_]) -> Pairs:
    """Pairs of (track, box), each at most once, such that pairs and those left alone cost least."""
    if not allowed.any():
        return []
    choices, rivals = allowed.sum(axis=1), allowed.sum(axis=0)
    if rivals.max() <= 1 and choices.max() <= 1:
        return _places(allowed)
    certain = allowed & (choices == 1)[:, None] & (rivals == 1)
    contested = allowed & ~certain
    tracks, boxes = (np.flatnonzero(contested.any(axis=axis)) for axis in (1, 0))
    part = np.ix_(tracks, boxes)
    chosen = _cheapest(np.where(contested[part], np.minimum(costs[part] - ALONE, 0), 0))
    pairs = [(int(tracks[row]), int(boxes[column])) for row, column in chosen]
    return _places(certain) + [pair for pair in pairs if allowed[pair]]


def _places(marked: NDArray[np.bool_]) -> Pairs:
    return list(zip(*(places.tolist() for places in np.nonzero(marked)), strict=True))


def _cheapest(costs: Array) -> Pairs:
    """Row and column of each pair of the assignment of least cost."""
    if max(costs.shape) > SMALL_CONFLICT:
        from scipy.optimize import linear_sum_assignment  # not at the top: see SMALL_CONFLICT

        return list(zip(*(places.tolist() for places in linear_sum_assignment(costs)), strict=True))
    if costs.shape[0] > costs.shape[1]:
        return [(row, column) for column, row in enumerate(least_cost(costs.T.tolist()))]
    return list(enumerate(least_cost(costs.tolist())))
