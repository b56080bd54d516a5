"""An engine whose answers a test writes down, to stand in for networks."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from serving.cards import ModelCard, parse_card
from serving.errors import ModelError
from serving.urgency import Urgency
from tests.models import card

Answer = Callable[[np.ndarray], list[np.ndarray]]


class FakeEngine:
    """Answers every model's batches with a function; notes what it was asked."""

    def __init__(self, **models: tuple[ModelCard, Answer]) -> None:
        self._models = {name.replace("_", "-"): model for name, model in models.items()}
        self.asked: list[tuple[str, np.ndarray, float]] = []
        self.loaded: list[str] = []

    def card(self, model: str) -> ModelCard:
        if model not in self._models:
            raise ModelError(f"unknown model {model!r}")
        return self._models[model][0]

    async def load(self, model: str) -> None:
        self.loaded.append(model)

    async def infer(self, model: str, batch: np.ndarray, urgency: Urgency) -> list[np.ndarray]:
        self.asked.append((model, batch, urgency.deadline))
        return self._models[model][1](batch)


def card_of(name: str, **changes: Any) -> ModelCard:
    """A card for a network of 4 × 4 pixels that says blue, green or red."""
    return parse_card(card(Path(name), **changes), name)
