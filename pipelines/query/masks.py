"""Masks as a query says them: polygons in the pictures of streams."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import model_validator

from pipelines.query.nodes import Names
from pipelines.query.points import Area, Patterns
from serving.common.strict import Strict

if TYPE_CHECKING:
    from operators.frames.mask import Mask

MOST_MASKS = 100


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
