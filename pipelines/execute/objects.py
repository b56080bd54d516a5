"""The objects of nodes that run at the same time, what users' operators note, and the objects of a result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import msgspec
from msgspec import UNSET

from operators.frames.frame import Box, Region
from operators.wire.bounds import LONGEST_MS, Corner, Count, corner, limited, share, word
from operators.wire.result import OTHER, UNKNOWN
from operators.wire.schema import Attribute, BoundingBox, Detection, Object
from pipelines.query.nodes import MOST_OBJECTS


class Beside:
    """The objects for one of the nodes of a group."""

    def __init__(self, regions: Sequence[Region], taken: set[int]) -> None:
        """``taken``: the objects, by ``id()``, that nodes before it in the group work on; those of this one join them.

        Copies stand for objects that are taken.
        """
        self.regions = [
            replace(each, attributes=list(each.attributes)) if id(each) in taken else each for each in regions
        ]
        self._copied = [
            (each, copy, len(copy.attributes), copy.track_id)
            for each, copy in zip(regions, self.regions, strict=True)
            if copy is not each
        ]
        taken.update(map(id, regions))

    def merge(self) -> None:
        """Note on the objects what the node has noted on the copies; called in the order of the nodes."""
        for region, copy, attributes, track_id in self._copied:
            region.attributes += copy.attributes[attributes:]
            if copy.track_id != track_id:
                region.track_id = copy.track_id


class _NotedRegion(msgspec.Struct):
    """The part of a region that an operator may set."""

    label: str
    confidence: float
    track_id: Count | None
    parent_id: Count | None
    attributes: list[Attribute]
    box: tuple[Corner, Corner, Corner, Corner] | None
    """None: the region was there before, and stays where it is."""


_NOTED = msgspec.json.Decoder(list[_NotedRegion])
"""Made before there are threads that decode."""


def plain(made: Sequence[Region], given: Sequence[Region]) -> None:
    """Make of what an operator of the user's has noted what messages hold: of NumPy's numbers plain ones.

    ``made``: the regions that it returns. Raises ValueError or TypeError for the rest, as for boxes in pixels, and for
    more regions than a detect node may report."""
    if len(made) > MOST_OBJECTS:
        raise ValueError(f"it has returned {len(made)} regions: {MOST_OBJECTS} at most")
    if wrong := next((box for each in made if not _is_box(box := each.box)), None):
        raise ValueError(f"{wrong} is no box: x_min < x_max and y_min < y_max")
    noted = [_noted(each, (each.box.x_min, each.box.y_min, each.box.x_max, each.box.y_max)) for each in made]
    noted += [_noted(each) for each in given]
    found = _NOTED.decode(msgspec.json.encode(noted, enc_hook=_scalar))
    for region, each in zip([*made, *given], found, strict=True):
        region.label, region.confidence, region.attributes = each.label, each.confidence, each.attributes
        region.track_id, region.parent_id = each.track_id, each.parent_id
        region.box = region.box if each.box is None else Box(*each.box)


def _is_box(box: Box) -> bool:
    return box.x_min < box.x_max and box.y_min < box.y_max


def _noted(region: Region, box: tuple[float, float, float, float] | None = None) -> _NotedRegion:
    return _NotedRegion(region.label, region.confidence, region.track_id, region.parent_id, region.attributes, box)


def _scalar(value: Any) -> Any:
    """A number or a word of NumPy's, or of a library like it."""
    if hasattr(value, "item"):
        return value.item()
    raise TypeError(f"{value!r:.100} is of {type(value)}: regions hold words and numbers")


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
