"""Zones and lines in pictures: where they are, what they are called, which way the arrow shows."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

from operators.annotate.drawing import draw
from operators.annotate.outlines import LINE, ZONE, arrow
from operators.annotate.style import Style
from operators.frames.polygon import Point
from operators.zones.geometry import crossings
from operators.zones.layout import Layout, Line, Zone
from serving.common.tensors import Image
from tests.operators.publish.messages import picture, result, thing

YARD = Zone("yard", ((0.6, 0.3), (0.9, 0.3), (0.9, 0.8), (0.6, 0.8)))
GATE = Line("gate", ((0.1, 0.5), (0.5, 0.5)))


def coloured(drawn: Image, colour: tuple[int, int, int]) -> np.ndarray:
    """Rows and columns of the pixels that have nearly this colour, as shares of the picture."""
    near = np.abs(drawn.astype(int) - colour).max(axis=2) < 25
    return np.argwhere(near) / drawn.shape[:2]


@pytest.mark.parametrize(("width", "height"), [(320, 180), (1920, 1080)])
def test_outlines_are_where_the_query_has_them(width: int, height: int) -> None:
    image = picture(result(), width, height).image
    drawn = draw(image, result(), layout=Layout((YARD,), (GATE,)))
    assert (image == 90).all()
    zone = coloured(drawn, ZONE)
    assert zone.max(axis=0) == pytest.approx((0.8, 0.9), abs=0.02)
    line = coloured(drawn, LINE)
    assert line[:, 1].min() == pytest.approx(0.1, abs=0.02)
    assert 0.4 < line[:, 0].min() < 0.5 < line[:, 0].max() < 0.6


@pytest.mark.parametrize("points", [GATE.points, GATE.points[::-1], ((0.2, 0.9), (0.4, 0.1)), ((0.5, 0.2), (0.5, 0.9))])
def test_the_arrow_points_from_left_to_right(points: tuple[Point, ...]) -> None:
    line = Line("gate", points)
    canvas = picture(result(), 640, 360).image
    (x0, y0), (x1, y1) = arrow(line, canvas, Style.of(canvas))
    assert crossings(line.sides, (x0 / 640, y0 / 360), (x1 / 640, y1 / 360)) == 1


def test_names_have_a_place_of_their_own_and_zones_say_how_many_are_inside() -> None:
    image = picture(result(), 640, 360).image
    inside = msgspec.structs.replace(thing(1), zones=["yard"])
    empty, full = (draw(image, result(0, found), layout=Layout((YARD,))) for found in (thing(1), inside))
    rows, columns = np.nonzero((empty != full).any(axis=2))
    assert rows.size, "the number has changed"
    assert columns.min() / 640 > 0.55
    assert rows.max() / 360 < 0.35


def test_without_zones_the_picture_is_as_it_was() -> None:
    image = picture(result(), 640, 360).image
    assert np.array_equal(draw(image, result(0, thing(1))), draw(image, result(0, thing(1)), layout=Layout()))
