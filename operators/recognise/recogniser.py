"""What all recognisers have in common: crops of regions go in, one attribute for each comes out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from operators.base import Call
from operators.crops import cut
from operators.frame import Frame, Image, Region
from operators.inference import Inference, answered_by, card_for
from operators.recognise.oracle import shortcuts, with_oracle
from operators.schema import Attribute, Model, Provenance
from serving.cards import Task
from serving.urgency import Urgency

UNKNOWN = "unknown"


class Recogniser(ABC):
    """Gives each region an attribute, by whichever of its models a call names."""

    def __init__(
        self, engine: Inference, models: Sequence[str], attribute: str, margin: float | None, task: Task
    ) -> None:
        """``margin``: share of a box's size added on every side; None: the card's. ModelError for an unfit model."""
        self._engine, self._models, self._attribute, self._margin = engine, models, attribute, margin
        for model in models:
            card_for(engine, model, task)
        self._shortcuts = shortcuts(models, with_oracle(models, engine.card)[1])

    @abstractmethod
    async def prepare(self) -> None:
        """Make the models ready, so that the first frame need not wait; BadInput where one cannot be used."""

    @abstractmethod
    async def name(self, model: str, crops: Sequence[Image], urgency: Urgency) -> list[Attribute]:
        """What a model says of each crop; raises SluiceError where it cannot."""

    @abstractmethod
    def labels(self, model: str) -> tuple[str, ...]:
        """All that a model may say."""

    @abstractmethod
    def sure(self, model: str) -> float:
        """The confidence from which a model's answer will hardly be another at the next look."""

    async def process(self, frame: Frame, regions: Sequence[Region], call: Call) -> list[Region]:
        """Append one attribute to every region; makes none."""
        if not regions:
            return []
        assert call.model is not None
        crops = self.crops(call.model, frame, regions)
        for region, answer in zip(regions, await self.name(call.model, crops, call.urgency), strict=True):
            region.attributes.append(answer)
        return []

    def crops(self, model: str, frame: Frame, regions: Sequence[Region]) -> list[Image]:
        """What a model is to see of each region: views into the frame's image."""
        margin = self._engine.card(model).input.margin if self._margin is None else self._margin
        return [cut(frame.image, region.box, margin).pixels for region in regions]

    def forget(self, stream: str) -> None:  # noqa: B027 - a default, not a gap
        """Nothing is kept between frames."""

    def answer(self, label: str, confidence: float, provenance: Provenance, model: Model) -> Attribute:
        """An answer of this node."""
        return Attribute(
            name=self._attribute, label=label, confidence=round(confidence, 4), provenance=provenance, model=model
        )

    def _attribute_of(self, model: str, label: str, confidence: float) -> Attribute:
        provenance: Provenance = "variant" if model in self._shortcuts else "oracle"
        return self.answer(label, confidence, provenance, answered_by(self._engine.card(model), model))
