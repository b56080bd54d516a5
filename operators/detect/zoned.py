"""A detector whose objects say in which zones they are."""

from __future__ import annotations

from collections.abc import Sequence

from operators.base import Call, NodeAnswer, Operator, ask, make_ready
from operators.frames.frame import Frame, Region
from operators.zones.layout import Zone, zones_at


class Zoned:
    """Operator: what a detector finds, with the zones of the stream that hold it."""

    def __init__(self, detector: Operator, zones: Sequence[Zone]) -> None:
        self.within, self._zones = detector, zones
        self._of: dict[str, tuple[Zone, ...]] = {}

    async def prepare(self) -> None:
        """Make the detector ready."""
        await make_ready(self.within)

    async def process(self, frame: Frame, regions: Sequence[Region], call: Call) -> NodeAnswer:
        """Return the regions; they say nothing where the stream has no zones."""
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
