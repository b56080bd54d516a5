"""From the regions that operators worked on to the objects of a result."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import UNSET

from operators.frames.frame import Box, Region
from operators.wire.bounds import LONGEST_MS, corner, limited, share, word
from operators.wire.result import OTHER, UNKNOWN
from operators.wire.schema import BoundingBox, Detection, Object


def objects_of(regions: Sequence[Region]) -> list[Object]:
    """One object per region, in the order they were found."""
    return [_object(region) for region in regions]


def _object(region: Region) -> Object:
    label, confidence = name_of(region)
    detection = Detection(
        bounding_box=_bounding_box(region.box),
        confidence=share(region.confidence),
        label=word(region.label),
        provenance="detector" if region.age_s is None else "propagated",
        age_ms=limited((region.age_s or 0.0) * 1000, 0.0, LONGEST_MS),
    )
    return Object(
        id=region.id,
        label=word(label),
        confidence=share(confidence),
        track_id=region.track_id,
        parent_id=region.parent_id,
        detection=detection,
        attributes=list(region.attributes),
        zones=UNSET if region.zones is None else list(region.zones),
    )


def name_of(region: Region) -> tuple[str, float]:
    """The object's name, and how sure it is.

    The detector names it, unless it is class-agnostic: then the last recogniser that is sure of a name does. Where one
    is sure that none of its names fits, the object is ``other``; where none is sure the detector's word stays.
    """
    if not region.class_agnostic:
        return region.label, region.confidence
    sure = [attribute for attribute in region.attributes if attribute.label != UNKNOWN]
    names = [attribute for attribute in sure if attribute.label != OTHER]
    if not sure:
        return region.label, region.confidence
    answer = (names or sure)[-1]
    return answer.label, answer.confidence


def _bounding_box(box: Box) -> BoundingBox:
    return BoundingBox(
        x_min=corner(box.x_min), y_min=corner(box.y_min), x_max=corner(box.x_max), y_max=corner(box.y_max)
    )
