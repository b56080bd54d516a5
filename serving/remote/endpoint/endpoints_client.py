"""The vision models that a query names, as ``Router`` asks backends: each by its name, one budget beside each."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence

from serving.budgets.day_budget import BudgetTeller, DayBudget
from serving.budgets.terms import BudgetReport
from serving.catalogue.cards import ModelCard
from serving.common.clock import SYSTEM
from serving.common.tensors import Array
from serving.errors import ModelError
from serving.remote.endpoint.terms import ON_ENDPOINT, VisionEndpoint
from serving.remote.endpoint.vision_model import VisionModel
from serving.scheduling.requests import Urgency

SUBMITTED_S = 0.002
"""A frame waits for a question to be sent, not for its answer: so much of its time is planned for that."""


class EndpointsClient:
    """Like ``BackendClient``; used from one event loop."""

    may_answer = False
    """A network that may be anywhere is not at an endpoint."""

    def __init__(
        self, endpoints: Sequence[tuple[VisionEndpoint, DayBudget]], told: Callable[[BudgetReport], None]
    ) -> None:
        """``endpoints``: each with the budget that pays for it; ``told``: hears how these stand."""
        self._models = {each.name.removesuffix(ON_ENDPOINT): VisionModel(each, budget) for each, budget in endpoints}
        self._teller = BudgetTeller([budget for _, budget in endpoints], SYSTEM, told)
        self._loaded: set[str] = set()

    async def start(self) -> None:
        """Do nothing: connections are opened by the first request."""

    async def close(self) -> None:
        """Close the connections, and give back what was not spent."""
        await asyncio.gather(*(each.close() for each in self._models.values()))
        self._teller.close()

    def card(self, served: str) -> ModelCard:
        return self._model(served).card

    async def fitted(self, served: str, width: int, height: int, detail: int | None) -> ModelCard:
        """The one card that there is: an endpoint is shown pictures of one size."""
        return self._model(served).card

    async def load(self, served: str) -> None:
        if served not in self._loaded:
            await self._model(served).load()
            self._loaded.add(served)

    async def infer(self, served: str, batch: Array, urgency: Urgency) -> list[Array]:
        try:
            return await self._model(served).infer(batch, urgency)
        finally:
            self._teller.called()

    def times(self, served: str) -> dict[int, float]:
        """An endpoint is never asked to find out how long it takes."""
        return {1: SUBMITTED_S}

    def keep_times(self, served: str, tail_s: Mapping[int, float]) -> None:
        """Raise ModelError: an endpoint is not measured here."""
        raise ModelError(f"model {served}{ON_ENDPOINT} is elsewhere: it is not measured here")

    def is_placed(self, served: str) -> bool | None:
        return None

    def waits_for(self, served: str) -> bool:
        return False

    def identity(self, served: str) -> str | None:
        return None

    def _model(self, served: str) -> VisionModel:
        if served not in self._models:
            raise ModelError(f"no endpoint of the query is {served!r}; known: {', '.join(self._models)}")
        return self._models[served]
