"""What the operators that run networks need of the engine."""

from __future__ import annotations

from typing import Any, Protocol

from numpy.typing import NDArray

from operators import schema
from serving.cards import ModelCard, Task
from serving.errors import ModelError


class Inference(Protocol):
    """The engine, as operators see it."""

    def card(self, model: str) -> ModelCard:
        """The card of a model; ModelError if there is none."""
        ...

    async def load(self, model: str) -> None:
        """Make a model ready; ModelError where that fails."""
        ...

    async def infer(self, model: str, batch: NDArray[Any], deadline: float) -> list[NDArray[Any]]:
        """The model's outputs for a batch, in the card's order, first axis as long as the batch's."""
        ...


def card_for(engine: Inference, model: str, task: Task) -> ModelCard:
    """A model's card; ModelError where the model is unknown or made for another task."""
    card = engine.card(model)
    if card.task != task:
        raise ModelError(f"model {model!r} is made to {card.task}, this node needs one that can {task}")
    return card


def answered_by(card: ModelCard) -> schema.Model:
    """How results name the model."""
    return schema.Model(name=card.name, version=card.version, tier=card.tier)
