"""An engine that collects samples on the way: now and then it runs the oracle with its taps open."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numpy.typing import NDArray

from operators.inference import Inference
from serving.catalogue.cards import ModelCard
from serving.engines.exits import ExitOutputs, Exits
from serving.errors import SluiceError, TooLate
from serving.scheduling.urgency import Urgency

EVERY = 4
"""Every so-manieth batch is sampled at most where looks that follow each other show the same objects."""


class SampledEngine:
    """Passes everything on; the answers are the oracle's own, bit for bit, whichever way it was run."""

    def __init__(self, engine: Inference, oracle: str, every: int) -> None:
        """``every``: one batch in so many may be sampled."""
        self._engine, self._oracle, self._every, self._batches = engine, oracle, every, 0
        self.wanted: Callable[[int], str | None] = lambda items: None
        """The network to run in the oracle's place for so many items; None: the oracle."""
        self.took: Callable[[ExitOutputs], None] = lambda outputs: None
        """Called with what it gave."""
        self.failed: Callable[[SluiceError], None] = lambda error: None
        """Called where it did not run; the oracle runs then."""

    def card(self, model: str) -> ModelCard:
        """See ``Inference``."""
        return self._engine.card(model)

    def add_exits(self, model: str, exits: Exits) -> str:
        """See ``Inference``."""
        return self._engine.add_exits(model, exits)

    async def load(self, model: str) -> float:
        """See ``Inference``."""
        return await self._engine.load(model)

    async def infer(self, model: str, batch: NDArray[Any], urgency: Urgency) -> list[NDArray[Any]]:
        """See ``Inference``."""
        network = self._network(model, len(batch), urgency)
        if network is None:
            return await self._engine.infer(model, batch, urgency)
        try:
            found = ExitOutputs.of(await self._engine.infer(network, batch, urgency))
        except TooLate:
            raise
        except SluiceError as error:
            self.failed(error)
            return await self._engine.infer(model, batch, urgency)
        if (found.place != len(found.taps)).any():  # caches came into service meanwhile and answered
            return await self._engine.infer(model, batch, urgency)
        if not found.version.any():
            self.took(found)
        return [found.scores]

    def processor_s(self, model: str) -> float | None:
        """See ``Inference``."""
        return self._engine.processor_s(model)

    def _network(self, model: str, items: int, urgency: Urgency) -> str | None:
        if model != self._oracle or urgency.background:
            return None
        self._batches += 1
        return self.wanted(items) if self._batches % self._every == 0 else None
