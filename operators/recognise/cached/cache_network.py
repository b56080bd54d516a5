"""The oracle with exits, as the engine runs it, and the caches that answer there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from operators.audits.unit_costs import RESUMING_S, UnitCosts
from operators.frames.halfway import Rest
from operators.inference import Inference, prepared
from serving.common.tensors import Array, Image
from serving.engines.exits import Answering, ExitOutputs, Exits
from serving.scheduling.urgency import Urgency

if TYPE_CHECKING:
    from cache_adapt.caches.store import BuiltCaches


class CacheNetwork:
    """One oracle, cut at a few places."""

    def __init__(self, engine: Inference, oracle: str, cuts: Sequence[str]) -> None:
        """``cuts``: tensors in dataflow order. Nobody answers there yet."""
        self.cuts = tuple(cuts)
        self.costs = UnitCosts(engine)
        self.oracle = oracle
        self.exits = Exits(cuts)
        self._engine = engine
        self.name = engine.add_exits(oracle, self.exits)
        self._versions = 0
        self._built: BuiltCaches | None = None
        self.is_open = False
        """Whether it was loaded once."""

    @property
    def version(self) -> int | None:
        """The number of the caches that answer; None: none do."""
        return self.exits.now.version or None

    async def prepare(self) -> float:
        """Load the network; ModelError where it cannot be cut there. Returns the processor seconds that it took."""
        seconds = await self._engine.load(self.name)
        self.is_open = True
        return seconds

    def answer_with(self, built: BuiltCaches) -> None:
        """From the next batch on these answer; raises ValueError where they are for other cuts."""
        self._versions, self._built = self._versions + 1, built
        by_cut = {cache.tensor: cache for cache in built.caches}
        self.exits.exchange(Answering(by_cut, built.card.classes, self._versions))

    def withdraw(self) -> None:
        """From the next batch on nobody answers."""
        self._built = None
        self.exits.exchange(Answering({}))

    def be_silent_once(self) -> None:
        """Nobody answers for the next batch: it goes through as a whole, and is of version 0."""
        self.exits.be_silent_once()

    def as_if_answered(self, found: ExitOutputs) -> ExitOutputs:
        """What a batch that went through as a whole, with all taps, had become if the caches had answered."""
        count, through = len(found.place), len(self.cuts)
        place = np.full(count, through, np.int32)
        said = np.zeros((count, self.exits.now.classes), np.float32)
        for cache in self._built.caches if self._built is not None else ():
            staying = np.flatnonzero(place == through)
            if not len(staying):
                break
            index = self.cuts.index(cache.tensor)
            if not found.taps[index].shape[1]:
                continue  # the batch began behind it
            looked = cache.look(found.taps[index][staying])
            place[staying[looked.hit]], said[staying[looked.hit]] = index, looked.distribution[looked.hit]
        return ExitOutputs(found.scores, place, np.full(count, self.version or 0, np.int32), said, found.taps)

    async def run(self, crops: Sequence[Image], urgency: Urgency) -> ExitOutputs:
        """Run crops through, as far as they have to go."""
        batch, _ = await prepared(self._engine.card(self.oracle).input, crops)
        return ExitOutputs.of(await self._engine.infer(self.name, batch, urgency))

    async def go_on(self, rest: Rest, rows: Array, urgency: Urgency) -> ExitOutputs:
        """Run what somebody else has begun with, as far as it has to go."""
        return ExitOutputs.of(await self._engine.infer(rest.name, rows, urgency))

    def look_s(self, rest: Rest | None = None) -> float:
        """Processor seconds of one look, over looks of late; 0 as long as they are not known.

        ``rest``: of a look that somebody else has begun with.
        """
        if rest is None:
            return self.costs.look_s(self.name) or 0.0
        rest_s = self.costs.network_s(rest.name)
        return 0.0 if rest_s is None else rest_s + RESUMING_S
