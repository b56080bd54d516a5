"""The shapes in which detectors are run: a picture of 16:9 that is laid into a square leaves 44 % of it grey.

A rectangle shows a picture at the same scale as the network's own input, with as little beside it as the network's
largest stride allows. Each shape is a network of its own, with its own queue, batches and memory, loaded when the first
picture comes that it fits.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from math import ceil

from serving.catalogue.cards import ImageInput, ModelCard
from serving.common.tensors import Array
from serving.errors import BackendDown, OutOfService, SluiceError
from serving.graphs.surgery.sizes import Size

log = logging.getLogger(__name__)

STEPS = (32, 64, 128)
"""Sides are multiples of the largest stride, which a graph does not say: most networks have the first one."""
MOST_SHAPES = 8
"""Shapes of a network beside its own: cameras that change their size do not fill the memory."""
TRIED_AFTER = 300
"""Pictures that are shown in a network's own shape before another one is asked for again of a backend that is down."""
WORTH = 0.9
"""A shape with more than this share of the pixels of the network's own input spares too little."""


def rectangle(size: ImageInput, width: int, height: int, step: int, detail: int | None = None) -> Size | None:
    """Return the input that fits pictures of this size; None where the network's own is as good.

    ``detail``: the longer side that is wanted; None: as many pixels for each thing as in the network's own input. A
    picture is not enlarged for it.

    >>> square = ImageInput(width=416, height=416, resize="letterbox")
    >>> rectangle(square, 1280, 720, 32), rectangle(square, 1280, 720, 32, detail=544)
    (Size(width=416, height=256), Size(width=544, height=320))
    """
    if size.resize != "letterbox":
        return None
    scale = min(size.width / width, size.height / height)
    if detail is not None:
        scale = min(detail / max(width, height), max(scale, 1.0))
    across, down = (step * max(1, ceil(round(side * scale, 3) / step)) for side in (width, height))
    larger = across > size.width or down > size.height
    if detail is None and (larger or across * down > WORTH * size.width * size.height):
        return None
    return None if (across, down) == (size.width, size.height) else Size(across, down)


def nearest(wanted: Size, known: Sequence[Size]) -> Size | None:
    """Return the smallest of the shapes that hold the wanted one; None where there is none."""
    holding = [size for size in known if size.width >= wanted.width and size.height >= wanted.height]
    return min(holding, key=lambda size: size.width * size.height, default=None)


class Rectangles:
    """The shapes of a process's networks; used from one event loop."""

    def __init__(self, card: Callable[[str], ModelCard], load: Callable[[str], Awaitable[float]]) -> None:
        """``load``: makes ready the network of a name that ``source`` knows."""
        self._card, self._load = card, load
        self._cards: dict[str, dict[Size, ModelCard]] = {}
        """By model, then by shape; the model's own card where a shape could not be had."""
        self._names: dict[str, tuple[str, Size]] = {}
        self._steps: dict[tuple[str, bool], Sequence[int]] = {}
        """By model and whether a shape is larger than its own, where it did not take the first: what is left to try."""
        self._latest: dict[str, str] = {}
        """By model: the name of the network that it ran as last."""
        self._rests: Counter[str] = Counter()
        """By model: pictures for which no shape is asked for."""
        self._one_at_a_time = asyncio.Lock()

    async def fitted(self, model: str, width: int, height: int, detail: int | None = None) -> ModelCard:
        """The card of a model with the input that fits pictures of this size; its own where it takes no other.

        ``detail``: the longer side that is wanted. Where that cannot be had, as without.
        """
        own, known = self._card(model), self._cards.setdefault(model, {})
        for larger in (False, True):
            while steps := self._steps.get((model, larger), STEPS):
                wanted = rectangle(own.input, width, height, steps[0], detail)
                if wanted is None:
                    return own
                if is_larger(wanted, own.input) != larger:
                    break
                if (found := self._had(own, known, wanted)) is not None:
                    return found if found is not own or detail is None else await self.fitted(model, width, height)
                if self._rests[model] > 0:
                    self._rests[model] -= 1
                    return own
                async with self._one_at_a_time:
                    if wanted not in known and steps == self._steps.get((model, larger), STEPS):
                        await self._open(model, wanted)
        return own if detail is None else await self.fitted(model, width, height)

    def _had(self, own: ModelCard, known: Mapping[Size, ModelCard], wanted: Size) -> ModelCard | None:
        """The card of a shape that is there, or as near as there may be; None where it may be loaded."""
        if wanted in known:
            return known[wanted]
        if len(known) < MOST_SHAPES:
            return None
        near = nearest(wanted, [*known])
        return own if near is None else known[near]

    def name(self, model: str, batch: Array) -> str:
        """The name of the network that runs a batch: a model's, or that of its shape that has the batch's."""
        taken = model
        for size, card in self._cards.get(model, {}).items():
            if card.input.item_shape == batch.shape[1:] and size == (card.input.width, card.input.height):
                taken = _name(model, size)
        self._latest[model] = taken
        return taken

    def named(self, model: str, size: Size) -> str:
        """The name of the network that takes pictures of a shape; the model's own where that is its own."""
        own = self._card(model).input
        return model if size == (own.width, own.height) else _name(model, size)

    def latest(self, model: str) -> str:
        """The name of the network that a model ran as last."""
        return self._latest.get(model, model)

    def shapes(self, model: str) -> list[str]:
        """The names of the networks that run a model on pictures of other shapes than its own."""
        return [name for name, (of, _) in self._names.items() if of == model]

    def source(self, name: str) -> tuple[str, Size] | None:
        """The model and the shape that a name stands for; None for a model's own."""
        return self._names.get(name)

    async def _open(self, model: str, size: Size) -> None:
        own, name, known = self._card(model), _name(model, size), self._cards[model]
        self._names[name] = model, size
        try:
            await self._load(name)
        except SluiceError as error:
            del self._names[name]
            if isinstance(error, BackendDown):  # which says nothing of the shape
                self._rests[model] = TRIED_AFTER
            else:
                self._refused(model, size, error)
            return
        shaped = own.input.model_copy(update={"width": size.width, "height": size.height})
        known[size] = own.model_copy(update={"input": shaped})
        share = size.width * size.height / (own.input.width * own.input.height)
        log.info("%s is run at %s too, with %.2f of the pixels of its own input", model, _text(size), share)

    def _refused(self, model: str, size: Size, error: SluiceError) -> None:
        """Go on with larger steps, or with the shapes that could be had, or with the network's own."""
        own, known = self._card(model), self._cards[model]
        sides, larger = (own.input.width, own.input.height), is_larger(size, own.input)
        tried = self._steps.get((model, larger), STEPS)
        left = [step for step in tried[1:] if not any(side % step for side in sides)]
        if left and not isinstance(error, OutOfService):
            self._steps[model, larger] = left
        elif any(card is not own and is_larger(had, own.input) == larger for had, card in known.items()):
            known[size] = own
        else:
            self._steps[model, larger] = ()
            what = "no larger pictures than" if larger else "pictures of all shapes at"
            log.info("%s takes %s %s: %s", model, what, _text(Size(*sides)), error)


def is_larger(size: Size, own: ImageInput) -> bool:
    """Whether a shape exceeds the network's own input on either side."""
    return size.width > own.width or size.height > own.height


def _name(model: str, size: Size) -> str:
    return f"{model}+{size.width}x{size.height}"


def _text(size: Size) -> str:
    return f"{size.width} × {size.height}"
