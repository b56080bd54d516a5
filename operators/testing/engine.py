"""An engine whose answers a test writes down, to stand in for networks."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from serving.catalogue.cards import ImageInput, ModelCard, parse_card
from serving.common.tensors import Array
from serving.engines.exits import RowPolicy
from serving.engines.groups import GroupRequest
from serving.engines.row_passage import RowPassage
from serving.errors import ModelError
from serving.graphs.surgery.sizes import Size
from serving.scheduling.requests import PriceAt, Urgency, free

Answer = Callable[[NDArray[Any]], list[NDArray[Any]]]

COLOURS = ("blue", "green", "red")


class FakeEngine:
    """Answers every model's batches with a function; notes what it was asked."""

    def __init__(self, **models: tuple[ModelCard, Answer]) -> None:
        self._models = {name.replace("_", "-"): model for name, model in models.items()}
        self.asked: list[tuple[str, NDArray[Any], float]] = []
        """Model, batch and deadline of every request."""
        self.loaded: list[str] = []
        self.costs_s: dict[str, float] = {}
        """Processor seconds of one item, by model; a test writes them down."""
        self.opening_s = 0.01
        """Processor seconds to load a model."""
        self.shapes: dict[tuple[str, int, int], ModelCard] = {}
        """Cards for pictures of a size, by model, width and height; a test writes them down."""
        self.details: list[int | None] = []
        """The wanted size of each picture that was fitted."""
        self._cuts: dict[str, Sequence[str]] = {}
        """By name: where models are cut."""

    def card(self, model: str) -> ModelCard:
        if model not in self._models:
            raise ModelError(f"unknown model {model!r}")
        return self._models[model][0]

    def place_of(self, model: str, price: PriceAt = free) -> str:
        return model

    async def fitted(self, model: str, width: int, height: int, detail: int | None = None) -> ModelCard:
        """See ``Inference``: pictures of all shapes are given in the same input, unless a test says otherwise."""
        self.details.append(detail)
        return self.shapes.get((model, width, height)) or self.card(model)

    def change_card(self, model: str, **changes: object) -> None:
        """Give a model another card: ``changes`` replace keys of the card, or of its input."""
        card, answer = self._models[model]
        given = {key: value for key, value in changes.items() if key in ImageInput.model_fields}
        rest = {key: value for key, value in changes.items() if key not in given}
        shown = card.input.model_copy(update=given)
        self._models[model] = card.model_copy(update={**rest, "input": shown}), answer

    def add_cuts(self, model: str, cuts: Sequence[str]) -> str:
        """See ``Inference``: taps are the sums of the pictures' channels at all cuts."""
        name = "+".join([model, *cuts])
        self._models[name], self._cuts[name] = self._models[model], cuts
        return name

    async def load(self, model: str) -> float:
        self.loaded.append(model)
        return self.opening_s

    async def infer(self, model: str, batch: Array, urgency: Urgency, policy: RowPolicy | None = None) -> list[Array]:
        self.asked.append((model, batch, urgency.deadline))
        if model in self._cuts:
            asked = GroupRequest(model, batch, policy)
            outputs = _run_with_cuts(self._models[model][1], self._cuts[model], asked)
            await asyncio.sleep(0.0)
            return outputs
        return self._models[model][1](batch)

    def processor_s(self, model: str, shape: Size | None = None) -> float | None:
        named = None if shape is None else self.costs_s.get(f"{model}+{shape.width}x{shape.height}")
        return self.costs_s.get(model) if named is None else named


def _run_with_cuts(answer: Answer, cuts: Sequence[str], asked: GroupRequest) -> list[NDArray[Any]]:
    """As a network with cuts does it, but that all its taps are the sums of the pictures' channels."""
    scores, tap = answer(asked.batch)[0], _sums(asked.batch)
    passage, there = RowPassage([asked], cuts), list(range(len(tap)))
    for cut in range(len(cuts)):
        leaving = passage.hear(cut, there, tap[there])
        there = there if leaving is None else [row for row, left in zip(there, leaving, strict=True) if not left]
    ended = np.zeros_like(scores)
    ended[there] = scores[there]
    (outputs,) = passage.results(ended, [tap] * len(cuts))
    return outputs


def _sums(batch: NDArray[Any]) -> NDArray[np.float32]:
    sums: NDArray[np.float32] = batch.reshape(len(batch), batch.shape[1], -1).sum(axis=2).astype(np.float32)
    return sums


def card_of(name: str, **changes: Any) -> ModelCard:
    """A card for a network of 4 × 4 pixels that says blue, green or red; ``changes`` replace keys, None removes one."""
    card = {
        "name": name,
        "version": "1",
        "task": "classify",
        "file": "net.onnx",
        "sha256": "0" * 64,
        "licence": "Apache-2.0",
        "source": "https://example.org",
        "input": {"width": 4, "height": 4, "colour": "bgr"},
        "classes": list(COLOURS),
        **changes,
    }
    return parse_card({key: value for key, value in card.items() if value is not None}, name)


def scores(words: Sequence[str]) -> NDArray[np.float32]:
    """The output of such a network when it says these words."""
    return np.array([[9.0 * (word == colour) for colour in COLOURS] for word in words], np.float32)
