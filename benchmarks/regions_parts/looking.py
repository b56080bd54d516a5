"""The ways to look at a frame, by the product's own operators."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import cv2
import numpy as np

from benchmarks.regions_parts.packing import packed
from operators.base import Call
from operators.decision import Decision
from operators.detect.motion import MotionDetector
from operators.detect.onnx import OnnxDetector
from operators.frames.crops import Crop, cut, widened
from operators.frames.frame import Box, Frame, Region, frame_of
from operators.zones.geometry import overlap
from serving.backend import Backend
from serving.common.tensors import Image
from serving.scheduling.requests import Urgency

WAYS = ("whole", "moving", "moving, packed")
MARGIN = 0.5
GAP = 8
"""Pixels between regions that are packed."""


@dataclass(frozen=True)
class Look:
    """What one way finds on a frame, and by how many runs."""

    boxes: Sequence[Box]
    runs: int


class Looker:
    """Looks at the frames of one video after the other."""

    def __init__(self, engine: Backend, model: str) -> None:
        self._engine, self._call = engine, Call(Decision(model), Urgency(math.inf))
        self._whole = OnnxDetector(engine, "whole", [model])
        self._inside = OnnxDetector(engine, "inside", [model], inside=True)
        self._side = min(engine.card(model).input.width, engine.card(model).input.height)
        self.begin()

    async def prepare(self) -> None:
        """Load the network."""
        await self._whole.prepare()

    def begin(self) -> None:
        """Another video begins."""
        self._motion = MotionDetector("motion")

    async def look(self, frame: Frame) -> Mapping[str, Look]:
        """What each way finds."""
        moving = await self._motion.process(frame, (), self._call)
        regions = [replace(each, id=number, box=widened(each.box, MARGIN)) for number, each in enumerate(moving)]
        whole = await self._whole.process(frame, (), self._call)
        inside = await self._inside.process(frame, regions, self._call)
        return {
            "whole": Look([each.box for each in whole], 1),
            "moving": Look(_once([each.box for each in inside]), len(regions)),
            "moving, packed": Look(_once(await self._packed(frame, regions)), bool(regions)),
        }

    async def _packed(self, frame: Frame, regions: Sequence[Region]) -> list[Box]:
        if not regions:
            return []
        crops = [cut(frame.image, each.box) for each in regions]
        sizes = [(crop.pixels.shape[1] + GAP, crop.pixels.shape[0] + GAP) for crop in crops]
        scale, places = packed(sizes, self._side)
        picture = np.full((self._side, self._side, 3), 114, np.uint8)
        for crop, (left, top) in zip(crops, places, strict=True):
            height, width = (max(1, math.floor(each * scale)) for each in crop.pixels.shape[:2])
            small = cv2.resize(crop.pixels, (width, height), interpolation=cv2.INTER_AREA)
            picture[top : top + height, left : left + width] = small[: self._side - top, : self._side - left]
        found = await self._whole.process(frame_of(frame.header.id, picture, 0.0), (), self._call)
        return [box for each in found if (box := self._unpacked(each.box, crops, places, scale)) is not None]

    def _unpacked(
        self, box: Box, crops: Sequence[Crop[Image]], places: Sequence[tuple[int, int]], scale: float
    ) -> Box | None:
        """The box in the frame, by the region in which its middle lies; None between regions."""
        middle_x, middle_y = (box.x_min + box.x_max) / 2 * self._side, (box.y_min + box.y_max) / 2 * self._side
        for crop, (left, top) in zip(crops, places, strict=True):
            width, height = crop.pixels.shape[1] * scale, crop.pixels.shape[0] * scale
            if left <= middle_x < left + width and top <= middle_y < top + height:
                across, down = (np.array([box.x_min, box.x_max]), np.array([box.y_min, box.y_max]))
                x0, x1 = np.clip((across * self._side - left) / width, 0, 1)
                y0, y1 = np.clip((down * self._side - top) / height, 0, 1)
                return crop.to_frame(Box(float(x0), float(y0), float(x1), float(y1))) if x0 < x1 and y0 < y1 else None
        return None


def _once(boxes: Sequence[Box]) -> list[Box]:
    """One box where several regions show the same object; the most confident come first."""
    kept: list[Box] = []
    for box in boxes:
        if all(overlap(box, other) < 0.5 for other in kept):
            kept.append(box)
    return kept
