"""An engine that keeps some of what networks are shown, and adds up what they take: for contests among their variants.

Bounded by a ``Room`` for each network; none are kept before a contest is near, nor once it was held.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from operators.inference import Inference, InferenceAround
from serving.common.tensors import Array
from serving.engines.exits import RowPolicy
from serving.scheduling.requests import Urgency

LEAST_ITEMS = 16


class Room(NamedTuple):
    """The most that is kept of each network."""

    items: int = 256
    nbytes: int = 16 << 20


ROOM, NO_ROOM = Room(), Room(0, 0)
LEARNT = Room(1000, 64 << 20)
"""Where they are shown to learn from them."""


class ShownItems:
    """Some of what one network was shown by the streams of a query, and what it took."""

    def __init__(self, rng: random.Random, room: Room = NO_ROOM) -> None:
        self.taken_s = 0.0
        """Processor seconds of its looks at frames, with exits or without."""
        self.item_s: float | None = None
        """Processor seconds of one item of late."""
        self._kept: list[NDArray[Any]] = []
        """One each of some batches, drawn from all that there were."""
        self._largest = 1
        """Bytes of the largest of them."""
        self._rng, self._room, self._batches = rng, room, 0

    def ran(self, batch: NDArray[Any], item_s: float | None) -> None:
        if item_s is not None:
            self.item_s, self.taken_s = item_s, self.taken_s + item_s * len(batch)
        if self._room.items and len(batch):
            self._draw(batch)

    @property
    def items(self) -> Sequence[NDArray[Any]]:
        """Those that are kept of the commonest shape: an input may follow the camera's."""
        shapes = Counter(each.shape for each in self._kept)
        return [each for each in self._kept if each.shape == shapes.most_common(1)[0][0]]

    @property
    def is_shown(self) -> bool:
        """Whether enough items are kept for a contest."""
        return len(self.items) >= LEAST_ITEMS

    def keep(self) -> None:
        """Keep items from now on."""
        self._room = ROOM

    def forget(self) -> None:
        """Keep no more items."""
        self._kept, self._room = [], NO_ROOM

    def _draw(self, batch: NDArray[Any]) -> None:
        self._batches += 1
        small = batch.dtype if batch.dtype.itemsize <= 2 else np.dtype(np.float16)
        self._largest = max(self._largest, batch[0].size * small.itemsize)
        room = min(self._room.items, self._room.nbytes // self._largest)
        del self._kept[room:]
        place = len(self._kept) if len(self._kept) < room else self._rng.randrange(self._batches)
        if place < room:
            self._kept[place : place + 1] = [batch[self._rng.randrange(len(batch))].astype(small)]


class Watched(InferenceAround):
    """An ``Inference`` that notes the use of some networks."""

    def __init__(self, engine: Inference, models: Iterable[str], rng: random.Random, room: Room = NO_ROOM) -> None:
        super().__init__(engine)
        self.uses = {model: ShownItems(rng, room) for model in models}
        self._of = {model: model for model in self.uses}
        """The network, by the names under which it is run."""

    def add_cuts(self, model: str, cuts: Sequence[str]) -> str:
        name = super().add_cuts(model, cuts)
        if model in self._of:
            self._of[name] = model
        return name

    async def infer(self, model: str, batch: Array, urgency: Urgency, policy: RowPolicy | None = None) -> list[Array]:
        """See ``Inference``; what runs in the background is not counted."""
        outputs = await super().infer(model, batch, urgency, policy)
        if not urgency.background and (name := self._of.get(model)) is not None:
            self.uses[name].ran(batch, self.processor_s(model))
        return outputs
