"""Areas of polygons in boxes, against points thrown at random and against shapes whose area is known."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.path import Path as Outline

from operators.frames.mask import inside_shares
from operators.frames.polygon import Polygon, polygon_fault

SQUARE: Polygon = ((0.2, 0.2), (0.6, 0.2), (0.6, 0.6), (0.2, 0.6))
ARROW: Polygon = ((0.1, 0.1), (0.9, 0.5), (0.1, 0.9), (0.4, 0.5))
"""Not convex: the box around it holds places outside of it on both sides."""


def share(polygon: Polygon, *box: float) -> float:
    return float(inside_shares(polygon, np.array([box]))[0])


@pytest.mark.parametrize(
    ("box", "expected"),
    [
        ((0.3, 0.3, 0.5, 0.5), 1.0),
        ((0.2, 0.2, 0.6, 0.6), 1.0),
        ((0.0, 0.0, 1.0, 1.0), 0.16),
        ((0.4, 0.3, 0.8, 0.5), 0.5),
        ((0.5, 0.5, 0.7, 0.7), 0.25),
        ((0.7, 0.7, 0.9, 0.9), 0.0),
        ((0.6, 0.2, 0.8, 0.6), 0.0),
    ],
)
def test_the_share_of_a_box_in_a_square(box: tuple[float, ...], expected: float) -> None:
    assert share(SQUARE, *box) == pytest.approx(expected, abs=1e-12)
    assert share(tuple(reversed(SQUARE)), *box) == pytest.approx(expected, abs=1e-12)


unit = st.floats(0, 1)


@settings(deadline=None)
@given(st.tuples(unit, unit), st.tuples(unit, unit), st.lists(st.floats(0.05, 0.5), min_size=3, max_size=12))
def test_it_is_the_share_of_points_thrown_at_the_box(
    one: tuple[float, float], other: tuple[float, float], radii: list[float]
) -> None:
    """Stars around the middle of the picture: most are not convex."""
    angles = np.linspace(0, 2 * np.pi, len(radii), endpoint=False)
    star = tuple((0.5 + r * float(np.cos(a)), 0.5 + r * float(np.sin(a))) for r, a in zip(radii, angles, strict=True))
    low, high = np.minimum(one, other), np.maximum(one, other) + 0.02
    points = np.random.default_rng(0).uniform(low, high, (4000, 2))
    expected = Outline([*star, star[0]], closed=True).contains_points(points).mean()
    assert share(star, *low, *high) == pytest.approx(expected, abs=0.04)


def test_many_boxes_are_looked_at_together() -> None:
    rng = np.random.default_rng(1)
    boxes = np.hstack([rng.uniform(0.0, 0.5, (20, 2)), rng.uniform(0.5, 1.0, (20, 2))])
    assert inside_shares(ARROW, boxes).tolist() == [share(ARROW, *box) for box in boxes]


def test_the_area_of_a_polygon_in_the_whole_frame_is_its_own() -> None:
    assert share(ARROW, 0, 0, 1, 1) == pytest.approx(0.8 * 0.8 / 2 - 0.8 * 0.3 / 2)


@pytest.mark.parametrize("polygon", [SQUARE, ARROW, ((0, 0), (1, 0), (0, 1))])
def test_what_encloses_one_area_is_a_polygon(polygon: Polygon) -> None:
    assert polygon_fault(polygon) is None


@pytest.mark.parametrize(
    ("polygon", "fault"),
    [
        (((0.2, 0.2), (0.6, 0.6), (0.6, 0.2), (0.2, 0.6)), "sides 1 and 3 cross"),
        (((0.0, 0.0), (0.5, 0.5), (1.0, 1.0)), "lie on one line"),
        (((0.1, 0.1), (0.1, 0.1), (0.5, 0.2)), "comes twice running"),
        (((0.1, 0.1), (0.5, 0.2), (0.3, 0.9), (0.1, 0.1)), "comes twice running"),
        (((0.0, 0.0), (1.0, 0.0), (1.0, 1.0), (0.5, 0.0), (0.0, 1.0)), "sides 1 and 3 cross"),
    ],
)
def test_what_encloses_no_area_or_several_is_none(polygon: Polygon, fault: str) -> None:
    assert fault in str(polygon_fault(polygon))
