"""An operator for Sluice that knows the ground: on which part of it an object stands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import cv2
import numpy as np

import sluice

OUTSIDE = "outside"
RULE = sluice.Model(name="ground", version="1", tier="rule")

Point = tuple[float, float]
"""(x, y) relative to the frame, 0…1."""


class Ground(sluice.Operator):
    """Gives each object the name of the first polygon that its foot stands in."""

    def __init__(self, name: str, parts: Mapping[str, Sequence[Point]]) -> None:
        self._name = name
        self._parts = {part: np.array(corners, np.float32) for part, corners in parts.items()}

    async def process(
        self, frame: sluice.Frame, regions: Sequence[sluice.Region], call: sluice.Call
    ) -> list[sluice.Region]:
        """Append one attribute to every region; makes none."""
        for region in regions:
            part = self.part_of(region.box)
            region.attributes.append(
                sluice.Attribute(name=self._name, label=part, confidence=1.0, provenance="oracle", model=RULE)
            )
        return []

    def part_of(self, box: sluice.Box) -> str:
        """The part that the middle of the box's lower edge stands on."""
        foot = ((box.x_min + box.x_max) / 2, box.y_max)
        inside = (part for part, corners in self._parts.items() if cv2.pointPolygonTest(corners, foot, False) >= 0)
        return next(inside, OUTSIDE)
