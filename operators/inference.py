"""What the operators that run networks need of the engine."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, Protocol

from numpy.typing import NDArray

from operators import schema
from operators.frame import Image
from serving.cards import ImageInput, ModelCard, Task
from serving.errors import ModelError
from serving.preprocess import Placement, batch
from serving.threads import beside
from serving.urgency import Urgency

PIXELS_AT_ONCE = 1 << 16
"""So many are prepared in less time than a thread takes to begin."""


class Inference(Protocol):
    """The engine, as operators see it."""

    def card(self, model: str) -> ModelCard:
        """The card of a model; ModelError if there is none."""
        ...

    async def load(self, model: str) -> None:
        """Make a model ready; ModelError where that fails."""
        ...

    async def infer(self, model: str, batch: NDArray[Any], urgency: Urgency) -> list[NDArray[Any]]:
        """The model's outputs for a batch, in the card's order, first axis as long as the batch's."""
        ...


def card_for(engine: Inference, model: str, task: Task) -> ModelCard:
    """A model's card; ModelError where the model is unknown or made for another task."""
    card = engine.card(model)
    if card.task != task:
        raise ModelError(f"model {model!r} is made to {card.task}, this node needs one that can {task}")
    return card


async def prepared(size: ImageInput, images: Sequence[Image]) -> tuple[NDArray[Any], list[Placement]]:
    """``preprocess.batch`` without holding up the loop."""
    pixels = sum(image.shape[0] * image.shape[1] for image in images) + len(images) * size.width * size.height
    if pixels <= PIXELS_AT_ONCE:
        return batch(size, images)
    return await beside(partial(batch, size, images))


def answered_by(card: ModelCard, model: str) -> schema.Model:
    """How results name the model that a call named, perhaps with a variant: ``vehicle-type@openvino-bf16``."""
    variant = model.partition("@")[2] or None
    return schema.Model(name=card.name, version=card.version, tier=card.tier, variant=variant)
