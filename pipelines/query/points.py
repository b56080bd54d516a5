"""Points in the pictures of streams, as a query gives them: polygons, lines, and the streams that they are for."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field

from operators.frames.polygon import Point, line_fault, polygon_fault
from pipelines.query.nodes import Share
from serving.common.explain import listed

MOST_CORNERS = 50
MOST_POINTS = 20
"""Points of a line."""


def _points(value: Any, what: str, example: str, least: int, most: int) -> Any:
    """Say in one line what is no list of points; without this there would be one for each number."""
    if not isinstance(value, list | tuple):
        raise ValueError(f"should be a list of {what}s: {example}")
    for place, point in enumerate(value):
        numbers = point if isinstance(point, list | tuple) else ()
        shares = [number for number in numbers if isinstance(number, int | float) and not isinstance(number, bool)]
        if len(numbers) != 2 or len(shares) != 2 or not all(0 <= number <= 1 for number in shares):
            raise ValueError(f"{what} {place + 1} should be [x, y], shares of the frame's width and height from 0 to 1")
    if not least <= len(value) <= most:
        raise ValueError(f"has {len(value)} {what}{'s' * (len(value) != 1)}: give {least} to {most}")
    return value


def _without(fault_of: Callable[[tuple[Point, ...]], str | None], points: tuple[Point, ...]) -> tuple[Point, ...]:
    if fault := fault_of(points):
        raise ValueError(fault)
    return points


_corners = partial(_points, what="corner", example="[[0.1, 0.2], [0.4, 0.2], [0.4, 0.9]]", least=3, most=MOST_CORNERS)
_stations = partial(_points, what="point", example="[[0.1, 0.6], [0.9, 0.6]]", least=2, most=MOST_POINTS)

Area = Annotated[
    tuple[tuple[Share, Share], ...],
    Field(min_length=3, max_length=MOST_CORNERS),
    AfterValidator(partial(_without, polygon_fault)),
    BeforeValidator(_corners, json_schema_input_type=list[tuple[Share, Share]]),
]
"""The corners of a polygon in order, each ``[x, y]`` in shares of the frame from the top left."""

Way = Annotated[
    tuple[tuple[Share, Share], ...],
    Field(min_length=2, max_length=MOST_POINTS),
    AfterValidator(partial(_without, line_fault)),
    BeforeValidator(_stations, json_schema_input_type=list[tuple[Share, Share]]),
]
"""The points of a line in order."""

Patterns = Annotated[
    tuple[Annotated[str, Field(pattern=r"^[A-Za-z0-9._*-]{1,100}$")], ...],
    Field(min_length=1),
    BeforeValidator(listed, json_schema_input_type=str | list[str]),
]
"""Ids of streams, in which ``*`` stands for any characters."""
