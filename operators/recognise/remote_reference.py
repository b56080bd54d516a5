"""A reference that another machine runs: the looks that go there, and the seconds that each takes from here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from numpy.typing import NDArray

from operators.inference import Inference
from serving.catalogue.cards import ModelCard
from serving.engines.exits import RowPolicy
from serving.graphs.surgery.sizes import Size
from serving.scheduling.requests import Urgency

NEWEST = 200
"""Looks over which the seconds of one are averaged, about."""


class RemoteReference:
    """An ``Inference`` that times the looks at one of its models, as frames wait for them."""

    def __init__(
        self, engine: Inference, model: str, now_s: Callable[[], float], took: Callable[[float], None]
    ) -> None:
        """``now_s``: a clock that only goes forward; ``took``: hears of all seconds that answers took."""
        self.model = model
        self._engine, self._now_s, self._told = engine, now_s, took
        self._places = {model}
        """The names by which it was to be asked."""
        self._looks = self._seconds = 0.0
        """Over looks of late: older ones count less and less."""

    @property
    def look_s(self) -> float:
        """Seconds of one look; 0 as long as none was answered."""
        return self._seconds / self._looks if self._looks else 0.0

    def card(self, model: str) -> ModelCard:
        return self._engine.card(model)

    def place_of(self, model: str) -> str:
        place = self._engine.place_of(model)
        if model == self.model:
            self._places.add(place)
        return place

    async def fitted(self, model: str, width: int, height: int, detail: int | None = None) -> ModelCard:
        return await self._engine.fitted(model, width, height, detail)

    def add_cuts(self, model: str, cuts: Sequence[str]) -> str:
        return self._engine.add_cuts(model, cuts)

    async def load(self, model: str) -> float:
        return await self._engine.load(model)

    async def infer(
        self,
        model: str,
        batch: NDArray[Any],
        urgency: Urgency,
        policy: RowPolicy | None = None,
    ) -> list[NDArray[Any]]:
        """See ``Inference``; what waits in the background is not timed."""
        began_s = self._now_s()
        outputs = await self._engine.infer(model, batch, urgency, policy)
        if model in self._places and not urgency.background:
            self._took(len(batch), self._now_s() - began_s)
        return outputs

    def processor_s(self, model: str, shape: Size | None = None) -> float | None:
        return self._engine.processor_s(model, shape)

    def _took(self, looks: int, seconds: float) -> None:
        kept = max(0.0, 1 - looks / NEWEST)
        self._looks, self._seconds = kept * self._looks + looks, kept * self._seconds + seconds
        self._told(seconds)
