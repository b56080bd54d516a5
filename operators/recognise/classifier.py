"""The classifier: one network, one word per object."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from operators.base import Call
from operators.crops import cut
from operators.frame import Frame, Region
from operators.inference import Inference, answered_by, card_for, prepared
from operators.schema import Attribute
from serving.cards import ModelCard
from serving.errors import ModelError
from serving.urgency import Urgency

UNKNOWN = "unknown"


class Classifier:
    """Gives each region an attribute, by whichever of its models a call names."""

    def __init__(
        self,
        engine: Inference,
        models: Sequence[str],
        attribute: str,
        *,
        min_confidence: float = 0.0,
        margin: float | None = None,
    ) -> None:
        """``margin``: share of a box's size added on every side; None: the card's. ModelError for an unknown model.

        Below ``min_confidence`` the answer is the card's ``other_label``, or ``unknown`` where it has none.
        """
        self._engine, self._models, self._attribute = engine, models, attribute
        self._min_confidence, self._margin = min_confidence, margin
        for model in models:
            card_for(engine, model, "classify")

    async def prepare(self) -> None:
        """Load the models, so that the first frame need not wait; ModelError where one cannot be opened."""
        for model in self._models:
            await self._engine.load(model)

    async def process(self, frame: Frame, regions: Sequence[Region], call: Call) -> list[Region]:
        """Append one attribute to every region; makes none."""
        if not regions:
            return []
        assert call.model is not None
        card = self._engine.card(call.model)
        (scores, *_) = await look(self._engine, call.model, frame, regions, self._margin, call.urgency)
        for region, row in zip(regions, probabilities(card, scores), strict=True):
            region.attributes.append(self._answer(card, call.model, row))
        return []

    def forget(self, stream: str) -> None:
        """Nothing is kept between frames."""

    def _answer(self, card: ModelCard, model: str, row: NDArray[np.float32]) -> Attribute:
        best = int(row.argmax())
        confidence = float(row[best])
        unsure = confidence < self._min_confidence
        return Attribute(
            name=self._attribute,
            label=(card.other_label or UNKNOWN) if unsure else card.classes[best],
            confidence=round(confidence, 4),
            provenance="oracle",
            model=answered_by(card, model),
        )


async def look(
    engine: Inference, model: str, frame: Frame, regions: Sequence[Region], margin: float | None, urgency: Urgency
) -> list[NDArray[Any]]:
    """Crop the regions, each with its margin, and run them through the network as one batch."""
    card = engine.card(model)
    widen = card.input.margin if margin is None else margin
    crops = [cut(frame.image, region.box, widen).pixels for region in regions]
    batch, _ = await prepared(card.input, crops)
    return await engine.infer(model, batch, urgency)


def probabilities(card: ModelCard, scores: NDArray[Any]) -> NDArray[np.float32]:
    """N × classes that sum to 1 in each row, by softmax where the card says logits; ModelError on another width."""
    rows = scores.reshape(len(scores), -1).astype(np.float32)
    if rows.shape[1] != len(card.classes):
        raise ModelError(f"model {card.name!r} scores {rows.shape[1]} classes, its card lists {len(card.classes)}")
    if card.scores == "probabilities":
        return rows
    powers = np.exp(rows - rows.max(axis=1, keepdims=True))
    shares: NDArray[np.float32] = powers / powers.sum(axis=1, keepdims=True)
    return shares
