"""The interface of the engine that operators with networks use."""

from __future__ import annotations

import logging
import math
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Protocol, TypeVar

import numpy as np
from msgspec import UNSET
from numpy.typing import NDArray

from operators.wire import schema
from serving.catalogue.cards import ImageInput, ModelCard, Task
from serving.common.tensors import Array, Image
from serving.common.threads import ThreadTime, in_thread
from serving.engines.exits import RowPolicy
from serving.errors import BackendDown, ModelError
from serving.graphs.surgery.sizes import Size
from serving.preprocess import Placement, Scalable, batch
from serving.scheduling.requests import PriceAt, Urgency, free
from serving.variants.variant import placed

log = logging.getLogger(__name__)

Answer = TypeVar("Answer")
GREY, GREY_SIZE = 114, 64
"""Level, and pixels either way, of the picture that networks are shown before the first frame."""
PIXELS_AT_ONCE = 1 << 16
"""Number of crops that are prepared in less time than it takes to start a thread."""
PLANES_AT_ONCE = 1 << 19
"""The same for pictures that are scaled down from planes."""
INPUT_BYTES = 32 << 20
"""The input of a network that is made at once, one picture at least: a crowd to look at is many."""


class Inference(Protocol):
    """The engine, as operators see it."""

    def card(self, model: str) -> ModelCard:
        """The card of a model; ModelError if there is none."""

    def place_of(self, model: str, price: PriceAt = free) -> str:
        """The name by which the next request for a model is to be made; another one for ``MODEL on auto`` alone.

        ``price``: of a request at each of its places.
        """

    async def fitted(self, model: str, width: int, height: int, detail: int | None = None) -> ModelCard:
        """The card with the input that fits pictures of this size, which ``infer`` takes too.

        ``detail``: the longer side that is wanted, if it can be had.
        """

    def add_cuts(self, model: str, cuts: Sequence[str]) -> str:
        """The name under which a model is run cut at these tensors; its outputs are ``ExitResult``."""

    async def load(self, model: str) -> float:
        """Make a model ready; ModelError where that fails. Returns the processor seconds that it took."""

    async def infer(self, model: str, batch: Array, urgency: Urgency, policy: RowPolicy | None = None) -> list[Array]:
        """The model's outputs for a batch, in the card's order, first axis as long as the batch's.

        ``policy``: of the rows, where the model is cut; None: all run on, nobody answers.
        """

    def processor_s(self, model: str, shape: Size | None = None) -> float | None:
        """Processor seconds of one item, all threads together; None as long as it is not known.

        ``shape``: of pictures of this shape; None: of those that the model ran on last.
        """


class InferenceAround:
    """An ``Inference`` that asks another one; those that note or change something extend it."""

    def __init__(self, engine: Inference) -> None:
        self._engine = engine

    def card(self, model: str) -> ModelCard:
        return self._engine.card(model)

    def place_of(self, model: str, price: PriceAt = free) -> str:
        return self._engine.place_of(model, price)

    async def fitted(self, model: str, width: int, height: int, detail: int | None = None) -> ModelCard:
        return await self._engine.fitted(model, width, height, detail)

    def add_cuts(self, model: str, cuts: Sequence[str]) -> str:
        return self._engine.add_cuts(model, cuts)

    async def load(self, model: str) -> float:
        return await self._engine.load(model)

    async def infer(self, model: str, batch: Array, urgency: Urgency, policy: RowPolicy | None = None) -> list[Array]:
        return await self._engine.infer(model, batch, urgency, policy)

    def processor_s(self, model: str, shape: Size | None = None) -> float | None:
        return self._engine.processor_s(model, shape)


def card_for(engine: Inference, model: str, task: Task) -> ModelCard:
    """A model's card; ModelError where the model is unknown or made for another task."""
    card = engine.card(model)
    if card.task != task:
        raise ModelError(f"model {model!r} is made to {card.task}, this node needs one that can {task}")
    return card


async def load_all(engine: Inference, models: Sequence[str], read: Callable[[str, Sequence[Array]], object]) -> None:
    """Make a node's models ready; ModelError where one cannot be used.

    ``read`` takes what each network of this process says of a grey picture, and raises ModelError where its card says
    otherwise: else every frame would. A backend that is down is waited for later, where another model can answer.
    """
    down: list[BackendDown] = []
    for model in models:
        try:
            await engine.load(model)
        except BackendDown as error:
            down.append(error)
            log.warning("%s: %s", model, error)
            continue
        if placed(model)[1] is None:
            grey, _ = batch(engine.card(model).input, [np.full((GREY_SIZE, GREY_SIZE, 3), GREY, np.uint8)])
            read(model, await engine.infer(model, grey, Urgency(math.inf)))
    if len(down) == len(models) and down:
        raise down[0]


async def asked(engine: Inference, model: str, ask: Callable[[str], Awaitable[Answer]]) -> Answer:
    """The answer of a model: ``ask`` is given the name of its place, and another one where that place is down."""
    place = engine.place_of(model)
    try:
        return await ask(place)
    except BackendDown:
        other = engine.place_of(model)
        if other == place:
            raise
        return await ask(other)


def at_once(size: ImageInput, pictures: int) -> Iterator[slice]:
    """The parts of so many pictures of which the input is made at once."""
    most = max(1, INPUT_BYTES // (math.prod(size.item_shape) * np.dtype(size.dtype).itemsize))
    return (slice(first, first + most) for first in range(0, pictures, most))


async def outputs_of(
    engine: Inference, model: str, pictures: Sequence[Image], urgency: Urgency, policy: RowPolicy | None = None
) -> list[Array]:
    """A model's outputs for pictures, of which only so many are prepared ``at_once``; ``policy``: of all of them.

    TooLate before the first of them alone: no answer that is there is thrown away.
    """
    size, found = engine.card(model).input, list[list[Array]]()
    for part in at_once(size, max(len(pictures), 1)):
        batch, _ = await prepared(size, pictures[part])
        found.append(await engine.infer(model, batch, urgency, None if policy is None else policy.of(part)))
        urgency = replace(urgency, droppable=False)
    return found[0] if len(found) == 1 else [np.concatenate(each) for each in zip(*found, strict=True)]


async def prepared(
    size: ImageInput, images: Sequence[Image | Scalable], took: ThreadTime | None = None
) -> tuple[NDArray[Any], list[Placement]]:
    """Run ``preprocess.batch`` without blocking the event loop; ``took`` counts what that takes."""
    work = (took or ThreadTime()).of(partial(batch, size, images))
    pixels = sum(image.shape[0] * image.shape[1] for image in images) + len(images) * size.width * size.height
    scalable = not any(isinstance(image, np.ndarray) for image in images)
    if pixels <= (PLANES_AT_ONCE if scalable else PIXELS_AT_ONCE):
        return work()
    return await in_thread(work)


def answered_by(card: ModelCard, model: str) -> schema.Model:
    """Describe for results the model that was run, as ``vehicle-type@openvino-bf16 on gpu``."""
    served, backend = placed(model)
    variant = served.partition("@")[2] or None
    where = UNSET if backend is None else backend
    return schema.Model(name=card.name, version=card.version, tier=card.tier, variant=variant, backend=where)
