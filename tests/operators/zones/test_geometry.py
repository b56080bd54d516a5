"""Inside, how far, and crossed: against OpenCV, and against exact arithmetic."""

from __future__ import annotations

from fractions import Fraction
from math import cos, hypot, sin, tau

import cv2
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from operators.frames.polygon import Point
from operators.zones.geometry import Side, contains, crossings, distance, sides_of

unit = st.floats(0, 1)
points = st.tuples(unit, unit)
radii = st.lists(st.floats(0.05, 0.5), min_size=3, max_size=12)
SQUARE = sides_of([(0.2, 0.2), (0.6, 0.2), (0.6, 0.6), (0.2, 0.6)], closed=True)
ACROSS = sides_of([(0.2, 0.5), (0.8, 0.5)], closed=False)
"""From left to right in the picture: its left hand is above it."""


def star(lengths: list[float]) -> list[Point]:
    """A polygon around the middle of the picture; most are not convex."""
    angles = [tau * place / len(lengths) for place in range(len(lengths))]
    return [(0.5 + r * cos(a), 0.5 + r * sin(a)) for r, a in zip(lengths, angles, strict=True)]


@settings(deadline=None)
@given(radii, points)
def test_inside_and_how_far_are_what_opencv_says(lengths: list[float], point: Point) -> None:
    corners = star(lengths)
    signed = cv2.pointPolygonTest(np.array(corners, np.float32), point, measureDist=True)
    assert distance(sides_of(corners, closed=True), point, (1, 1)) == pytest.approx(abs(signed), abs=1e-5)
    if abs(signed) > 1e-5:  # its corners are rounded
        assert contains(sides_of(corners, closed=True), point) is (signed > 0)


@pytest.mark.parametrize(
    ("point", "inside"),
    [((0.4, 0.4), True), ((0.1, 0.4), False), ((0.7, 0.4), False), ((0.4, 0.1), False), ((0.4, 0.7), False)],
)
def test_a_square_holds_its_middle(point: Point, inside: bool) -> None:
    assert contains(SQUARE, point) is inside


def test_a_point_on_the_border_of_two_zones_is_in_one_of_them() -> None:
    left = sides_of([(0, 0), (0.5, 0), (0.5, 1), (0, 1)], closed=True)
    right = sides_of([(0.5, 0), (1, 0), (1, 1), (0.5, 1)], closed=True)
    for y in (0.0, 0.25, 0.5, 0.999):
        assert contains(left, (0.5, y)) + contains(right, (0.5, y)) == 1


def test_distance_is_measured_in_the_size_of_the_object() -> None:
    assert distance(ACROSS, (0.5, 0.7), (1, 1)) == pytest.approx(0.2)
    assert distance(ACROSS, (0.5, 0.7), (0.1, 0.4)) == pytest.approx(0.5)
    assert distance(ACROSS, (0.9, 0.5), (0.1, 0.4)) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("start", "end", "crossed"),
    [
        ((0.5, 0.4), (0.5, 0.6), 1),
        ((0.5, 0.6), (0.5, 0.4), -1),
        ((0.5, 0.4), (0.5, 0.45), 0),
        ((0.1, 0.4), (0.1, 0.6), 0),  # past its beginning
        ((0.9, 0.4), (0.9, 0.6), 0),  # past its end
        ((0.5, 0.4), (0.5, 0.5), 1),  # onto it
        ((0.5, 0.5), (0.5, 0.6), 0),  # and on: it was counted
        ((0.5, 0.5), (0.5, 0.4), -1),
        ((0.3, 0.5), (0.7, 0.5), 0),  # along it
        ((0.5, 0.4), (0.5, 0.4), 0),
    ],
)
def test_a_way_over_a_line_is_counted_once_and_has_a_direction(start: Point, end: Point, crossed: int) -> None:
    assert crossings(ACROSS, start, end) == crossed


def exactly(side: Side, start: Point, end: Point) -> int:
    """The same by solving for the place where they meet, in fractions; assumes that it is at no end of either."""
    (x0, y0), (x1, y1), (x2, y2), (x3, y3) = (tuple(map(Fraction, point)) for point in (*side, start, end))
    cross = (x1 - x0) * (y3 - y2) - (y1 - y0) * (x3 - x2)
    assume(cross != 0)
    along = ((x2 - x0) * (y3 - y2) - (y2 - y0) * (x3 - x2)) / cross
    there = ((x2 - x0) * (y1 - y0) - (y2 - y0) * (x1 - x0)) / cross
    assume(all(abs(share) > 1e-9 and abs(share - 1) > 1e-9 for share in (along, there)))
    meet = 0 < along < 1 and 0 < there < 1
    return int(meet) * (1 if cross > 0 else -1)


@settings(deadline=None)
@given(st.lists(points, min_size=2, max_size=6), points, points)
def test_crossings_are_those_of_exact_arithmetic(line: list[Point], start: Point, end: Point) -> None:
    sides = sides_of(line, closed=False)
    assert crossings(sides, start, end) == sum(exactly(side, start, end) for side in sides)


@settings(deadline=None)
@given(radii, points, points)
def test_who_comes_in_crosses_the_border(lengths: list[float], start: Point, end: Point) -> None:
    sides = sides_of(star(lengths), closed=True)
    assume(all(distance(sides, point, (1, 1)) > 1e-6 for point in (start, end)))
    assume(hypot(start[0] - end[0], start[1] - end[1]) > 1e-6)
    net = crossings(sides, start, end)
    assert net == contains(sides, end) - contains(sides, start), "the corners go round clockwise: right is inside"
