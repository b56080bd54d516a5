"""The engine of a query with vision models behind endpoints: they answer to their names, this process to all others."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence

from serving.backend import Backend
from serving.catalogue.cards import ModelCard
from serving.common.engine_observer import UNOBSERVED, EngineObserver
from serving.common.tensors import Array
from serving.engines.exits import RowPolicy
from serving.errors import ModelError
from serving.graphs.surgery.sizes import Size
from serving.remote.endpoint.vision_model import VisionModels
from serving.scheduling.requests import PriceAt, Urgency, free
from serving.variants.timings import VariantFigures


class EndpointEngine:
    """Like ``Backend``; used from one event loop."""

    def __init__(self, local: Backend, endpoints: VisionModels, observer: EngineObserver = UNOBSERVED) -> None:
        self._local, self._endpoints, self._observer = local, endpoints, observer

    async def start(self) -> None:
        await self._local.start()

    async def stop(self) -> None:
        """Close the connections, and finish what was asked of this process."""
        await self._endpoints.close()
        await self._local.stop()

    @property
    def hung(self) -> asyncio.Event:
        return self._local.hung

    def card(self, model: str) -> ModelCard:
        return self._endpoints.card(model) if model in self._endpoints else self._local.card(model)

    def place_of(self, model: str, price: PriceAt = free) -> str:
        return model

    def is_placed(self, model: str) -> bool | None:
        return None

    async def fitted(self, model: str, width: int, height: int, detail: int | None = None) -> ModelCard:
        """See ``Backend.fitted``: an endpoint is shown pictures of one size."""
        if model in self._endpoints:
            return self._endpoints.card(model)
        return await self._local.fitted(model, width, height, detail)

    def add_cuts(self, model: str, cuts: Sequence[str]) -> str:
        """See ``Backend.add_cuts``; ModelError for an endpoint."""
        if model in self._endpoints:
            raise ModelError(f"model {model!r} is elsewhere: it cannot be cut")
        return self._local.add_cuts(model, cuts)

    async def load(self, model: str) -> float:
        return await (self._endpoints if model in self._endpoints else self._local).load(model)

    async def infer(
        self,
        model: str,
        batch: Array,
        urgency: Urgency,
        policy: RowPolicy | None = None,
    ) -> list[Array]:
        if model in self._endpoints:
            began_s = time.monotonic()
            found = await self._endpoints.infer(model, batch, urgency)
            self._observer.network_ran(model, len(batch), time.monotonic() - began_s)
            return found
        return await self._local.infer(model, batch, urgency, policy)

    def measured(self, model: str) -> VariantFigures | None:
        return (self._endpoints if model in self._endpoints else self._local).measured(model)

    def keep(self, model: str, tail_s: Mapping[int, float]) -> VariantFigures:
        """See ``Backend.keep``; ModelError for an endpoint, which is never measured."""
        if model in self._endpoints:
            raise ModelError(f"model {model!r} is elsewhere: it is not measured here")
        return self._local.keep(model, tail_s)

    def processor_s(self, model: str, shape: Size | None = None) -> float | None:
        return None if model in self._endpoints else self._local.processor_s(model, shape)
