"""A detector whose objects say in which zones they are, and one whose objects behind masks do not count."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from operators.base import Call, NodeAnswer, Operator, ask, make_ready
from operators.frames.frame import Frame, Region
from operators.frames.mask import Mask, kept, masks_of
from operators.zones.layout import Zone, zones_at
from serving.common.threads import in_thread

FEW = 5_000
"""Pairs of a region and a corner that are looked at on the event loop; more in a thread."""


class Masked:
    """Operator: what a detector finds in a whole frame, less what the masks of the stream take away."""

    def __init__(self, detector: Operator, masks: Sequence[Mask], max_objects: int) -> None:
        """``max_objects``: the first ones that are left, so that an ignored crowd takes nobody's place."""
        self._detector, self._masks, self._max_objects = detector, masks, max_objects
        self._of: dict[str, tuple[Mask, ...]] = {}

    async def prepare(self) -> None:
        await make_ready(self._detector)

    async def process(self, frame: Frame, regions: Sequence[Region], call: Call) -> NodeAnswer:
        answer = await ask(self._detector, frame, regions, call)
        if frame.stream not in self._of:
            self._of[frame.stream] = masks_of(self._masks, frame.stream)
        masks = self._of[frame.stream]
        keep = partial(kept, masks, answer.regions)
        few = len(answer.regions) * sum(len(mask.polygon) for mask in masks) <= FEW
        left = keep() if few else await in_thread(keep)
        return replace(answer, regions=left[: self._max_objects])

    def forget(self, stream: str) -> None:
        self._of.pop(stream, None)
        self._detector.forget(stream)


class Zoned:
    """Operator: what a detector finds, with the zones of the stream that hold it."""

    def __init__(self, detector: Operator, zones: Sequence[Zone]) -> None:
        self.within, self._zones = detector, zones
        self._of: dict[str, tuple[Zone, ...]] = {}

    async def prepare(self) -> None:
        await make_ready(self.within)

    async def process(self, frame: Frame, regions: Sequence[Region], call: Call) -> NodeAnswer:
        answer = await ask(self.within, frame, regions, call)
        self.add(frame, answer.regions)
        return answer

    def add(self, frame: Frame, regions: Sequence[Region]) -> None:
        """Note the zones on what was found."""
        if frame.stream not in self._of:
            self._of[frame.stream] = tuple(zone for zone in self._zones if zone.is_for(frame.stream))
        if zones := self._of[frame.stream]:
            for region in regions:
                region.zones = zones_at(zones, region.box, region.label)

    def forget(self, stream: str) -> None:
        self._of.pop(stream, None)
        self.within.forget(stream)
