"""A reference that another machine runs: the looks that go there, and the seconds that each takes from here."""

from __future__ import annotations

from collections.abc import Callable

from operators.inference import Inference, InferenceAround
from serving.common.tensors import Array
from serving.engines.exits import RowPolicy
from serving.scheduling.requests import PriceAt, Urgency, free

NEWEST = 200
"""Looks over which the seconds of one are averaged, about."""


class RemoteReference(InferenceAround):
    """An ``Inference`` that times the looks at one of its models, as frames wait for them."""

    def __init__(
        self, engine: Inference, model: str, now_s: Callable[[], float], took: Callable[[float], None]
    ) -> None:
        """``now_s``: a clock that only goes forward; ``took``: hears of all seconds that answers took."""
        super().__init__(engine)
        self.model, self._now_s, self._told = model, now_s, took
        self._places = {model}
        """The names by which it was to be asked."""
        self._looks = self._seconds = 0.0
        """Over looks of late: older ones count less and less."""

    @property
    def look_s(self) -> float:
        """Seconds of one look; 0 as long as none was answered."""
        return self._seconds / self._looks if self._looks else 0.0

    def place_of(self, model: str, price: PriceAt = free) -> str:
        place = super().place_of(model, price)
        if model == self.model:
            self._places.add(place)
        return place

    async def infer(self, model: str, batch: Array, urgency: Urgency, policy: RowPolicy | None = None) -> list[Array]:
        """See ``Inference``; what waits in the background is not timed."""
        began_s = self._now_s()
        outputs = await super().infer(model, batch, urgency, policy)
        if model in self._places and not urgency.background:
            self._took(len(batch), self._now_s() - began_s)
        return outputs

    def _took(self, looks: int, seconds: float) -> None:
        kept = max(0.0, 1 - looks / NEWEST)
        self._looks, self._seconds = kept * self._looks + looks, kept * self._seconds + seconds
        self._told(seconds)
