"""A detector's regions, as a disagreement says them. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from operators.frames.frame import Region
from operators.wire.adaptation import Finding, Opinion
from operators.wire.bounds import corner, share, word
from operators.wire.schema import BoundingBox


def opinion(model: str, regions: Sequence[Region]) -> Opinion:
    """Everything that the model has found on a frame."""
    return Opinion(models=[model], found=[_finding(each) for each in regions])


def _finding(region: Region) -> Finding:
    sides = {side: corner(getattr(region.box, side)) for side in ("x_min", "y_min", "x_max", "y_max")}
    box = BoundingBox(**sides)
    return Finding(label=word(region.label), confidence=share(region.confidence), bounding_box=box)
