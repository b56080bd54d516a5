"""The engine as the planner measures with it: calls to other machines are paid from the budgets of their backends."""

from __future__ import annotations

from collections.abc import Mapping

from pipelines.assembly.paid_inference import PaidInference
from pipelines.assembly.planners import Measures
from serving.catalogue.cards import ModelCard
from serving.common.tensors import Array
from serving.scheduling.requests import Urgency
from serving.variants.timings import VariantFigures


class PaidMeasures:
    """Measures with another engine; a ``Measures``."""

    def __init__(self, engine: Measures, paid: PaidInference) -> None:
        self._engine, self._paid = engine, paid

    def card(self, model: str) -> ModelCard:
        return self._engine.card(model)

    def measured(self, model: str) -> VariantFigures | None:
        return self._engine.measured(model)

    def keep(self, model: str, tail_s: Mapping[int, float]) -> VariantFigures:
        return self._engine.keep(model, tail_s)

    async def infer(self, model: str, batch: Array, urgency: Urgency) -> list[Array]:
        """Run a model; raises BudgetSpent where the day does not pay for it."""
        return await self._paid.infer(model, batch, urgency)
