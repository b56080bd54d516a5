"""The vision models that a query names, by the names that the engine has for them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from serving.budgets.day_budget import DayBudget
from serving.budgets.teller import BudgetTeller
from serving.budgets.terms import BudgetReport
from serving.catalogue.cards import ModelCard
from serving.common.clock import SYSTEM, Clock
from serving.common.tensors import Array
from serving.errors import ModelError
from serving.remote.endpoint.terms import VisionEndpoint
from serving.remote.endpoint.vision_model import VisionModel
from serving.scheduling.requests import Urgency
from serving.variants.timings import VariantFigures

SUBMITTED_S = 0.002
"""A frame waits for a question to be sent, not for its answer: so much of its time is planned for that."""
NEVER_AGAIN = 1 << 20
"""Moments of measurement that are said to have been: an endpoint is never asked to find out how long it takes."""


class VisionModels:
    """Used from one event loop."""

    def __init__(
        self,
        endpoints: Sequence[tuple[VisionEndpoint, DayBudget]],
        told: Callable[[BudgetReport], None],
        clock: Clock = SYSTEM,
    ) -> None:
        """``endpoints``: each with the budget that pays for it; ``told``: hears how these stand."""
        self._models = {each.name: VisionModel(each, budget, clock) for each, budget in endpoints}
        self._teller = BudgetTeller([budget for _, budget in endpoints], clock, told)

    def __contains__(self, model: str) -> bool:
        return model in self._models

    def card(self, model: str) -> ModelCard:
        """The card of a model; ModelError if there is none."""
        return self._model(model).card

    async def load(self, model: str) -> float:
        """See ``VisionModel.load``; takes no processor seconds to speak of."""
        await self._model(model).load()
        return 0.0

    async def infer(self, model: str, batch: Array, urgency: Urgency) -> list[Array]:
        """See ``VisionModel.infer``."""
        try:
            return await self._model(model).infer(batch, urgency)
        finally:
            self._teller.called()

    def measured(self, model: str) -> VariantFigures:
        """The figures that a planner takes for a model."""
        self._model(model)
        return VariantFigures({1: SUBMITTED_S}, None, moments=NEVER_AGAIN)

    async def close(self) -> None:
        """Close all connections, and give back what was not spent."""
        await asyncio.gather(*(each.close() for each in self._models.values()))
        self._teller.close()

    def _model(self, model: str) -> VisionModel:
        if model not in self._models:
            raise ModelError(f"no endpoint of the query is {model!r}; known: {', '.join(self._models) or 'none'}")
        return self._models[model]
