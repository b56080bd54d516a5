"""The detector that runs a network: on the whole frame, or inside the regions another detector found."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from operators.base import Call
from operators.detect.decoding import candidates, decode, each_once
from operators.detect.detail.dial import AutoDetail
from operators.detect.detections import Detections, one_per_place
from operators.frames.crops import Crop, cut
from operators.frames.frame import WHOLE, Box, Frame, Landmarks, Region, make_image
from operators.frames.planes import Pixels
from operators.inference import Inference, asked, at_once, card_for, load_all, prepared
from serving import preprocess
from serving.catalogue.cards import ModelCard
from serving.common.explain import choices
from serving.common.tensors import Array
from serving.common.threads import ThreadTime, in_thread
from serving.errors import ModelError

NUMBERS_AT_ONCE = 1 << 19
"""Numbers of outputs that are read in less time than it takes to start a thread."""
BOXES_AT_ONCE = 100
"""The same for boxes that are compared with each other."""


@dataclass(frozen=True, slots=True)
class Reported:
    """Which objects a detector reports."""

    labels: Collection[str] | None = None
    """Only these; None: all."""
    min_confidence: float | None = None
    """None: the model card's."""
    max_objects: int = 100
    """The most of a frame."""


ALL = Reported()


class OnnxDetector:
    """Finds labelled regions with whichever of its models a call names."""

    def __init__(
        self,
        engine: Inference,
        node: str,
        models: Sequence[str],
        reported: Reported = ALL,
        inside: bool = False,
        detail: int | AutoDetail | None = None,
    ) -> None:
        """``inside``: look within each given region, not at the frame; ``detail``: pixels of the longer side of that.

        A call may ask for another ``detail``. Raises ModelError for an unknown model or a label that no model knows.
        """
        self._engine, self._node, self._models, self._inside = engine, node, models, inside
        self._reported, self._detail = reported, detail
        self._handled, self._handling_s = 0, 0.0
        for model in models:
            _check_labels(card_for(engine, model, "detect"), reported.labels or ())

    async def prepare(self) -> None:
        """Load the models, so that the first frame need not wait; ModelError where one cannot be opened."""
        await load_all(self._engine, self._models, lambda model, outputs: decode(self._engine.card(model), outputs))

    async def process(self, frame: Frame, regions: Sequence[Region], call: Call) -> list[Region]:
        """Return the regions found; a region found inside another carries its parent's id."""
        if self._inside and not regions:
            return []
        assert call.model is not None
        if self._inside:
            await make_image(frame)
        return await asked(self._engine, call.model, partial(self._found, frame, regions, call))

    async def _found(self, frame: Frame, regions: Sequence[Region], call: Call, model: str) -> list[Region]:
        card = await self._card(frame, model, call.detail)
        looks, took, children = self._looks(frame, regions), ThreadTime(), list[Region]()
        urgency = call.urgency
        for some in at_once(card.input, len(looks)):
            part = looks[some]
            batch, placements = await prepared(card.input, [crop.pixels for crop, _ in part], took)
            outputs = await self._engine.infer(model, batch, urgency)
            urgency = replace(urgency, droppable=False)  # no answer that is there is thrown away
            found = await self._decoded(card, outputs, took)
            for (crop, parent), placement, detections in zip(part, placements, found, strict=True):
                children += self._regions(card, crop, placement, parent, detections)
        self._handled, self._handling_s = self._handled + 1, self._handling_s + took.seconds
        return sorted(children, key=lambda region: -region.confidence)[: self._reported.max_objects]

    @property
    def handling_s(self) -> float:
        return self._handling_s / self._handled if self._handled else 0.0

    def forget(self, stream: str) -> None:
        """Do nothing: no state is kept between frames."""

    def _looks(self, frame: Frame, regions: Sequence[Region]) -> Sequence[tuple[Crop[Pixels], int | None]]:
        """The pictures that the network sees: crops, each with its parent's id, or the whole frame as it came."""
        if not self._inside:
            return [(Crop(frame.pixels, WHOLE), None)]
        return [(cut(frame.image, region.box), region.id) for region in regions]

    async def _card(self, frame: Frame, model: str, detail: int | None) -> ModelCard:
        """The model's card; for whole frames with the input that fits their shape."""
        if self._inside:
            return self._engine.card(model)
        wanted = self._detail if detail is None else detail
        if isinstance(wanted, AutoDetail):
            wanted = wanted.on_every_frame(self._engine.card(model).input, frame.width, frame.height)
        return await self._engine.fitted(model, frame.width, frame.height, wanted)

    async def _decoded(self, card: ModelCard, outputs: Sequence[Array], took: ThreadTime) -> list[Detections]:
        """Decode without blocking the event loop: in a thread where there is much to read or to compare."""
        read = partial(candidates, card, outputs, self._reported.min_confidence)
        if sum(each.size for each in outputs) > NUMBERS_AT_ONCE:
            return await in_thread(took.of(lambda: self._compared(card, read())))
        found = took.of(read)()
        compare = took.of(partial(self._compared, card, found))
        return compare() if sum(map(len, found)) <= BOXES_AT_ONCE else await in_thread(compare)

    def _compared(self, card: ModelCard, found: Sequence[Detections]) -> list[Detections]:
        """Each thing once, of those that are reported."""
        labels = self._reported.labels
        wanted = np.array([labels is None or name in labels for name in card.classes], bool)
        once = each_once(card, found)
        return [one_per_place(each[wanted[each.classes]], card.classes) for each in once]

    def _regions(
        self,
        card: ModelCard,
        crop: Crop[Pixels],
        placement: preprocess.Placement,
        parent: int | None,
        found: Detections,
    ) -> list[Region]:
        shares = placement.to_image(found.boxes)
        labels = [card.classes[index] for index in found.classes]
        landmarks = _landmarks(crop, placement, found)
        return [
            Region(
                id=0,
                node=self._node,
                box=crop.to_frame(Box(*map(float, box))),
                label=label,
                confidence=min(float(score), 1.0),
                parent_id=parent,
                landmarks=points,
            )
            for box, label, score, points in zip(shares, labels, found.scores, landmarks, strict=True)
            if box[0] < box[2] and box[1] < box[3]
        ]


def _landmarks(crop: Crop[Pixels], placement: preprocess.Placement, found: Detections) -> Sequence[Landmarks | None]:
    """Return the points of each detection, shares of the frame."""
    if found.landmarks is None:
        return [None] * len(found)
    return [
        crop.points_to_frame(tuple((float(x), float(y)) for x, y in points))
        for points in placement.points_to_image(found.landmarks)
    ]


def _check_labels(card: ModelCard, labels: Collection[str]) -> None:
    for label in labels:
        if label not in card.classes:
            raise ModelError(f"model {card.name!r} does not find {label!r}{choices(label, card.classes)}")
