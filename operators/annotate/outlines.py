"""Shows zones and lines by thin outlines with their names, the way over a line by an arrow, and masks: the picture is
darker where objects do not count.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import hypot

import cv2
import numpy as np
from numpy.typing import NDArray

from operators.annotate.style import Colour, Rectangle, Style, free_place, shortened
from operators.frames.mask import Mask
from operators.frames.polygon import Point
from operators.wire.schema import Object
from operators.zones.layout import Layout, Line, Shape, Zone
from serving.common.tensors import Image

DIMMED = 0.6
"""Share of its brightness that the picture keeps where objects do not count."""
OUTLINE = (200, 200, 200)
FINE = 4
"""Binary digits of a pixel that corners are drawn with."""


def shade(canvas: Image, masks: Sequence[Mask]) -> None:
    """Draw the masks of a stream onto a picture."""
    if not masks:
        return
    dim = _dim(canvas, masks)
    canvas[dim] = (canvas[dim] * DIMMED).astype(np.uint8)
    for mask in masks:
        cv2.polylines(canvas, [_corners(canvas, mask.polygon)], True, OUTLINE, 1, cv2.LINE_AA, FINE)


def _dim(canvas: Image, masks: Sequence[Mask]) -> NDArray[np.bool_]:
    """Pixels inside of a polygon that ignores, and those outside of all that require."""
    ignored, required = (
        _filled(canvas, [each for each in masks if each.kind == kind]) for kind in ("ignore", "require")
    )
    return ignored | ~required if required.any() else ignored


def _filled(canvas: Image, masks: Sequence[Mask]) -> NDArray[np.bool_]:
    plane = np.zeros(canvas.shape[:2], np.uint8)
    for mask in masks:
        cv2.fillPoly(plane, [_corners(canvas, mask.polygon)], 1, cv2.LINE_8, FINE)
    return plane.astype(bool)


def _corners(canvas: Image, points: Sequence[Point]) -> NDArray[np.int32]:
    height, width = canvas.shape[:2]
    return np.round(np.array(points) * (width, height) * (1 << FINE)).astype(np.int32)


ZONE: Colour = (230, 180, 60)
LINE: Colour = (70, 210, 250)
DARK: Colour = (30, 30, 30)
ARROW = 90
"""Pixels of an arrow at scale 1."""


def outline(canvas: Image, layout: Layout) -> None:
    """Draw the zones and lines of a stream onto a picture."""
    style = Style.of(canvas)
    for zone in layout.zones:
        _draw(canvas, zone, style, ZONE)
    for line in layout.lines:
        _draw(canvas, line, style, LINE)
        start, end = arrow(line, canvas, style)
        for colour, width in ((DARK, style.stroke + 3), (LINE, style.stroke + 1)):
            cv2.arrowedLine(canvas, start, end, colour, width, cv2.LINE_AA, tipLength=0.35)


def names(canvas: Image, layout: Layout, objects: Sequence[Object], taken: Sequence[Rectangle]) -> list[Rectangle]:
    """Write the names of zones, with the number of objects inside, and of lines; returns what these and arrows take."""
    style = Style.of(canvas)
    places = [_around(arrow(line, canvas, style), style) for line in layout.lines]
    inside = [name for found in objects if found.zones for name in found.zones]
    said = [(zone, f"{shortened(zone.name)} {inside.count(zone.name)}", ZONE) for zone in layout.zones]
    for shape, text, colour in [*said, *((line, shortened(line.name), LINE) for line in layout.lines)]:
        x, y = _pixels(canvas, shape.points[0])
        place = free_place((x, y, x + 1, y + 1), style.extent(text), [*taken, *places], canvas.shape[1::-1])
        if place is not None:
            style.write(canvas, text, place, colour)
            places.append(place)
    return places


def arrow(line: Line, canvas: Image, style: Style) -> tuple[tuple[int, int], tuple[int, int]]:
    """Beginning and end of an arrow over the middle of a line's longest part, from its left to its right; pixels."""
    ends = [(_pixels(canvas, a), _pixels(canvas, b)) for a, b in line.sides]
    (x0, y0), (x1, y1) = max(ends, key=lambda part: hypot(part[1][0] - part[0][0], part[1][1] - part[0][1]))
    half = ARROW * style.scale / 2 / max(1.0, hypot(x1 - x0, y1 - y0))
    across = -(y1 - y0) * half, (x1 - x0) * half
    middle = (x0 + x1) / 2, (y0 + y1) / 2
    start, end = (tuple(round(at + way * by) for at, by in zip(middle, across, strict=True)) for way in (-1, 1))
    return (start[0], start[1]), (end[0], end[1])


def _draw(canvas: Image, shape: Shape, style: Style, colour: Colour) -> None:
    for ink, width in ((DARK, style.stroke + 2), (colour, style.stroke)):
        cv2.polylines(canvas, [_corners(canvas, shape.points)], isinstance(shape, Zone), ink, width, cv2.LINE_AA, FINE)


def _pixels(canvas: Image, point: Point) -> tuple[int, int]:
    return round(point[0] * (canvas.shape[1] - 1)), round(point[1] * (canvas.shape[0] - 1))


def _around(ends: tuple[tuple[int, int], tuple[int, int]], style: Style) -> Rectangle:
    """The pixels of an arrow."""
    across, down = zip(*ends, strict=True)
    wide = round(ARROW * style.scale / 4)
    return min(across) - wide, min(down) - wide, max(across) + wide, max(down) + wide
