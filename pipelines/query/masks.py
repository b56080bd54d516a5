"""Masks as a query says them: polygons in the pictures of streams."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from operators.frames.polygon import Polygon, polygon_fault
from pipelines.query.nodes import Names, Share
from serving.common.strict import Strict

if TYPE_CHECKING:
    from operators.frames.mask import Mask

MOST_CORNERS = 50
MOST_MASKS = 100


def _sound(polygon: Polygon) -> Polygon:
    if fault := polygon_fault(polygon):
        raise ValueError(fault)
    return polygon


def _corners(value: Any) -> Any:
    """Say in one line what is no list of corners; without this there would be one for each number."""
    if not isinstance(value, list | tuple):
        raise ValueError("should be a list of corners: [[0.1, 0.2], [0.4, 0.2], [0.4, 0.9]]")
    for place, corner in enumerate(value):
        numbers = corner if isinstance(corner, list | tuple) else ()
        shares = [number for number in numbers if isinstance(number, int | float) and not isinstance(number, bool)]
        if len(numbers) != 2 or len(shares) != 2 or not all(0 <= number <= 1 for number in shares):
            raise ValueError(f"corner {place + 1} should be [x, y], shares of the frame's width and height from 0 to 1")
    if not 3 <= len(value) <= MOST_CORNERS:
        raise ValueError(f"has {len(value)} corners: give 3 to {MOST_CORNERS}")
    return value


Area = Annotated[
    tuple[tuple[Share, Share], ...],
    Field(min_length=3, max_length=MOST_CORNERS),
    AfterValidator(_sound),
    BeforeValidator(_corners, json_schema_input_type=list[tuple[Share, Share]]),
]
"""The corners of a polygon in order, each ``[x, y]`` in shares of the frame from the top left."""

Pattern = Annotated[str, Field(pattern=r"^[A-Za-z0-9._*-]{1,100}$")]


def _listed(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


Patterns = Annotated[
    tuple[Pattern, ...], Field(min_length=1), BeforeValidator(_listed, json_schema_input_type=str | list[str])
]


class MaskSpec(Strict):
    """A polygon in which objects do not count (``ignore``), or outside of which they do not (``require``)."""

    streams: Patterns = ("*",)
    """Ids of the streams in whose picture it lies; ``*`` stands for any characters."""
    ignore: Area | None = None
    """Objects that lie in it by half or more do not count."""
    require: Area | None = None
    """Objects count only where they lie in it, or in another such polygon, by half or more."""
    labels: Names | None = None
    """The detector's words for the objects it is about. Default: all objects."""

    @model_validator(mode="after")
    def _one_polygon(self) -> MaskSpec:
        if (self.ignore is None) == (self.require is None):
            raise ValueError("needs one polygon: 'ignore' or 'require'")
        return self

    @property
    def mask(self) -> Mask:
        """The mask that operators work with."""
        from operators.frames.mask import Mask  # brings numpy, which a query with a mistake does without

        labels = None if self.labels is None else frozenset(self.labels)
        if self.ignore is not None:
            return Mask(self.ignore, "ignore", self.streams, labels)
        assert self.require is not None
        return Mask(self.require, "require", self.streams, labels)
