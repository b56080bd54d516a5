"""The oracle with exits, as the engine runs it, and the caches that answer there."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from operators.audits.unit_costs import RESUMING_S, UnitCosts
from operators.frames.halfway import Rest
from operators.inference import Inference, prepared
from serving.common.tensors import Array, Image
from serving.engines.exits import Answering, ExitOutputs, Exits
from serving.scheduling.requests import Urgency

if TYPE_CHECKING:
    from cache_adapt.caches.learned_cache import LearnedCache
    from cache_adapt.caches.store import BuiltCaches


class Run(NamedTuple):
    """A run that has ended, or whose answers are there before it has."""

    outputs: ExitOutputs
    """Those of the whole, or so far."""
    rest: asyncio.Future[list[Array]] | None
    """The outputs of the whole when it has ended; None: it has."""


class CacheNetwork:
    """One oracle, cut at a few places."""

    def __init__(self, engine: Inference, oracle: str, cuts: Sequence[str], releases: bool = False) -> None:
        """``cuts``: tensors in dataflow order. No exit answers there yet. ``releases``: see ``Exits``."""
        self.cuts = tuple(cuts)
        self.costs = UnitCosts(engine)
        self.oracle = oracle
        self.exits = Exits(cuts, releases)
        self._engine = engine
        self.name = engine.add_exits(oracle, self.exits)
        self._versions = 0
        self.built: BuiltCaches | None = None
        """The caches of the present version, as they came."""
        self._asked: Sequence[LearnedCache] = ()
        """Those that answer, with their present thresholds."""
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
        self._exchange(built, built.caches, self._versions + 1)
        self._versions, self.built = self._versions + 1, built

    def tune(self, thresholds: Mapping[str, float]) -> None:
        """From the next batch on the same caches, by their tensors, are so sure; those left out are not asked.

        They stay of one version: counts of their answers belong to the thresholds that gave them.
        """
        assert self.built is not None
        asked = [each for each in self.built.caches if each.tensor in thresholds]
        asked = [replace(each, threshold=thresholds[each.tensor]) for each in asked]
        self._exchange(self.built, asked, self._versions)

    def withdraw(self) -> None:
        """From the next batch on no exit answers."""
        self.built, self._asked = None, ()
        self.exits.exchange(Answering({}))

    def be_silent_once(self) -> None:
        """No exit answers for the next batch: it goes through as a whole, and is of version 0."""
        self.exits.be_silent_once()

    def as_if_answered(self, found: ExitOutputs) -> ExitOutputs:
        """The outputs of a batch that ran to its end with all taps, as if the caches had answered."""
        count, through = len(found.place), len(self.cuts)
        place = np.full(count, through, np.int32)
        said = np.zeros((count, self.exits.now.classes), np.float32)
        for cache in self._asked:
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

    async def release(self, crops: Sequence[Image], urgency: Urgency) -> Run:
        """Run crops through; returns as soon as caches have answered for all of them, else at the end."""
        batch, _ = await prepared(self._engine.card(self.oracle).input, crops)
        early: asyncio.Future[list[Array]] = asyncio.get_running_loop().create_future()
        whole = asyncio.ensure_future(self._engine.infer(self.name, batch, urgency, early))
        try:
            await asyncio.wait({early, whole}, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            whole.cancel()
            raise
        if early.done():
            return Run(ExitOutputs.of(early.result()), whole)
        return Run(ExitOutputs.of(await whole), None)

    async def go_on(self, rest: Rest, rows: Array, urgency: Urgency) -> ExitOutputs:
        """Run the rest of a look that another link has begun, as far as it has to go."""
        return ExitOutputs.of(await self._engine.infer(rest.name, rows, urgency))

    def _exchange(self, built: BuiltCaches, asked: Sequence[LearnedCache], version: int) -> None:
        self.exits.exchange(Answering({cache.tensor: cache for cache in asked}, built.card.classes, version))
        self._asked = asked

    def look_s(self, rest: Rest | None = None) -> float:
        """Processor seconds of one look, over looks of late; 0 as long as they are not known.

        ``rest``: of a look that another link has begun.
        """
        if rest is None:
            return self.costs.look_s(self.name) or 0.0
        rest_s = self.costs.network_s(rest.name)
        return 0.0 if rest_s is None else rest_s + RESUMING_S
