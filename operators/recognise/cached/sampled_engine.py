"""An engine that collects samples on the way: now and then it runs the oracle with its taps open."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, Protocol

from numpy.typing import NDArray

from operators.inference import Inference
from serving.catalogue.cards import ModelCard
from serving.engines.exits import ExitOutputs, Exits, RowPolicy
from serving.engines.halves import Halves
from serving.errors import SluiceError, TooLate
from serving.graphs.surgery.sizes import Size
from serving.scheduling.requests import Urgency

EVERY = 4
"""Every so-manieth batch is sampled at most where looks that follow each other show the same objects."""


class BatchSampler(Protocol):
    """Says which batches become samples, and takes them."""

    def tapped(self, items: int) -> str | None:
        """The network to run in the oracle's place for so many items; None: the oracle."""
        ...

    def keeps(self, items: int) -> bool:
        """Whether so many items are wanted whose taps are open anyway."""
        ...

    def sampled(self, found: ExitOutputs) -> None:
        """Take what the network gave."""
        ...

    def failed(self, error: SluiceError) -> None:
        """The network did not run; the oracle runs then."""
        ...


class SampledEngine:
    """Passes everything on; the answers are the oracle's own, bit for bit, whichever way it was run."""

    def __init__(self, engine: Inference, oracle: str, every: int) -> None:
        """``every``: one batch in so many may be sampled."""
        self.inner, self._oracle, self._every, self._batches = engine, oracle, every, 0
        self._rests: set[str] = set()
        self._sampler: BatchSampler | None = None

    def sample_for(self, sampler: BatchSampler) -> None:
        """Take samples from now on."""
        self._sampler = sampler

    def card(self, model: str) -> ModelCard:
        return self.inner.card(model)

    async def fitted(self, model: str, width: int, height: int, detail: int | None = None) -> ModelCard:
        return await self.inner.fitted(model, width, height, detail)

    def add_exits(self, model: str, exits: Exits) -> str:
        return self.inner.add_exits(model, exits)

    def add_cuts(self, model: str, cuts: Sequence[str]) -> str:
        return self.inner.add_cuts(model, cuts)

    def add_halves(self, model: str, features: str, exits: Exits | None = None) -> Halves:
        made = self.inner.add_halves(model, features, exits)
        if model == self._oracle:
            self._rests.add(made.rest)
        return made

    async def load(self, model: str) -> float:
        return await self.inner.load(model)

    async def infer(
        self,
        model: str,
        batch: NDArray[Any],
        urgency: Urgency,
        early: asyncio.Future[list[NDArray[Any]]] | None = None,
        policy: RowPolicy | None = None,
    ) -> list[NDArray[Any]]:
        if policy is not None:
            return await self.inner.infer(model, batch, urgency, early, policy)
        if model in self._rests:
            return await self._rest(model, batch, urgency)
        sampler, network = self._sampler, self._network(model, len(batch), urgency)
        if sampler is None or network is None:
            return await self.inner.infer(model, batch, urgency, early)
        try:
            found = ExitOutputs.of(await self.inner.infer(network, batch, urgency))
        except TooLate:
            raise
        except SluiceError as error:
            sampler.failed(error)
            return await self.inner.infer(model, batch, urgency)
        if (found.place != len(found.taps)).any():  # caches came into service meanwhile and answered
            return await self.inner.infer(model, batch, urgency)
        if not found.version.any():
            sampler.sampled(found)
        return [found.scores]

    def processor_s(self, model: str, shape: Size | None = None) -> float | None:
        return self.inner.processor_s(model, shape)

    async def _rest(self, model: str, batch: NDArray[Any], urgency: Urgency) -> list[NDArray[Any]]:
        """The outputs of the oracle's later layers, whose taps are open unless caches answer."""
        outputs = await self.inner.infer(model, batch, urgency)
        found = ExitOutputs.of(outputs)
        has_taps = bool(found.taps) and all(tap.shape[1] for tap in found.taps)
        sampler = self._sampler
        if sampler is not None and has_taps and self._is_turn(urgency) and sampler.keeps(len(batch)):
            sampler.sampled(found)
        return outputs

    def _is_turn(self, urgency: Urgency) -> bool:
        """Whether a batch of the oracle may be sampled; called once for each."""
        if urgency.background:
            return False
        self._batches += 1
        return self._batches % self._every == 0

    def single_s(self, model: str) -> float | None:
        return self.inner.single_s(model)

    def _network(self, model: str, items: int, urgency: Urgency) -> str | None:
        if self._sampler is None or model != self._oracle or not self._is_turn(urgency):
            return None
        return self._sampler.tapped(items)
