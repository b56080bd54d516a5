"""The engine of a query with vision models behind endpoints: they answer to their names, this process to all others."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence

from serving.backend import Backend
from serving.budgets.day_budget import DayBudget
from serving.budgets.teller import BudgetTeller
from serving.budgets.terms import BudgetReport
from serving.catalogue.cards import ModelCard
from serving.common.clock import SYSTEM
from serving.common.engine_observer import UNOBSERVED, EngineObserver
from serving.common.tensors import Array
from serving.engines.exits import RowPolicy
from serving.errors import ModelError
from serving.graphs.surgery.sizes import Size
from serving.remote.endpoint.terms import VisionEndpoint
from serving.remote.endpoint.vision_model import VisionModel
from serving.scheduling.requests import PriceAt, Urgency, free
from serving.variants.timings import VariantFigures

SUBMITTED_S = 0.002
"""A frame waits for a question to be sent, not for its answer: so much of its time is planned for that."""
NEVER_AGAIN = 1 << 20
"""Moments of measurement that are said to have been: an endpoint is never asked to find out how long it takes."""


class EndpointEngine:
    """Like ``Backend``; used from one event loop."""

    def __init__(
        self,
        local: Backend,
        endpoints: Sequence[tuple[VisionEndpoint, DayBudget]],
        told: Callable[[BudgetReport], None],
        observer: EngineObserver = UNOBSERVED,
    ) -> None:
        """``endpoints``: each with the budget that pays for it; ``told``: hears how these stand."""
        self._local, self._observer = local, observer
        self._endpoints = {each.name: VisionModel(each, budget) for each, budget in endpoints}
        self._teller = BudgetTeller([budget for _, budget in endpoints], SYSTEM, told)

    async def start(self) -> None:
        await self._local.start()

    async def stop(self) -> None:
        """Close the connections, give back what was not spent, and finish what was asked of this process."""
        await asyncio.gather(*(each.close() for each in self._endpoints.values()))
        self._teller.close()
        await self._local.stop()

    @property
    def hung(self) -> asyncio.Event:
        return self._local.hung

    def card(self, model: str) -> ModelCard:
        found = self._endpoints.get(model)
        return self._local.card(model) if found is None else found.card

    def place_of(self, model: str, price: PriceAt = free) -> str:
        return model

    def is_placed(self, model: str) -> bool | None:
        return None

    async def fitted(self, model: str, width: int, height: int, detail: int | None = None) -> ModelCard:
        """See ``Backend.fitted``: an endpoint is shown pictures of one size."""
        if model in self._endpoints:
            return self.card(model)
        return await self._local.fitted(model, width, height, detail)

    def add_cuts(self, model: str, cuts: Sequence[str]) -> str:
        """See ``Backend.add_cuts``; ModelError for an endpoint."""
        if model in self._endpoints:
            raise ModelError(f"model {model!r} is elsewhere: it cannot be cut")
        return self._local.add_cuts(model, cuts)

    async def load(self, model: str) -> float:
        """See ``VisionModel.load``, which takes no processor seconds to speak of."""
        if (found := self._endpoints.get(model)) is None:
            return await self._local.load(model)
        await found.load()
        return 0.0

    async def infer(self, model: str, batch: Array, urgency: Urgency, policy: RowPolicy | None = None) -> list[Array]:
        if (found := self._endpoints.get(model)) is None:
            return await self._local.infer(model, batch, urgency, policy)
        began_s = time.monotonic()
        try:
            answers = await found.infer(batch, urgency)
        finally:
            self._teller.called()
        self._observer.network_ran(model, len(batch), time.monotonic() - began_s)
        return answers

    def measured(self, model: str) -> VariantFigures | None:
        if model in self._endpoints:
            return VariantFigures({1: SUBMITTED_S}, None, moments=NEVER_AGAIN)
        return self._local.measured(model)

    def keep(self, model: str, tail_s: Mapping[int, float]) -> VariantFigures:
        """See ``Backend.keep``; ModelError for an endpoint, which is never measured."""
        if model in self._endpoints:
            raise ModelError(f"model {model!r} is elsewhere: it is not measured here")
        return self._local.keep(model, tail_s)

    def processor_s(self, model: str, shape: Size | None = None) -> float | None:
        return None if model in self._endpoints else self._local.processor_s(model, shape)
