"""The engine of a query that names remote models: each request goes to this process or to the backend of its name."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from math import inf
from random import Random
from typing import TYPE_CHECKING

from serving.catalogue.cards import ModelCard
from serving.common.clock import SYSTEM, Clock, sleep
from serving.common.engine_observer import UNOBSERVED, EngineObserver
from serving.common.tensors import Array
from serving.engines.exits import RowPolicy
from serving.errors import BackendDown, ModelError
from serving.graphs.surgery.sizes import Size
from serving.remote.endpoint.terms import ENDPOINT
from serving.remote.place_choice import PlaceChoice
from serving.scheduling.requests import PriceAt, Urgency, free
from serving.variants.timings import VariantFigures
from serving.variants.variant import ANYWHERE, ON, placed

if TYPE_CHECKING:
    from serving.backend import Backend
    from serving.remote.client.backend_client import BackendClient
    from serving.remote.endpoint.endpoints_client import EndpointsClient

log = logging.getLogger(__name__)

AGAIN_S = 5.0
"""Seconds from one look at what backends that were down serve to the next."""
CALL_S = 0.0005
"""Processor seconds of this process for one picture that is answered elsewhere, about; ``benchmarks/remote.py``."""


class Router:
    """Used from one event loop; ``start`` before all else."""

    def __init__(
        self,
        local: Backend,
        clients: Mapping[str, BackendClient | EndpointsClient],
        names: Iterable[str],
        *,
        quick_s: float = inf,
        clock: Clock = SYSTEM,
        observer: EngineObserver = UNOBSERVED,
        rng: Random | None = None,
    ) -> None:
        """``clients``: by the names that models are `` on ``; ``names``: all models of the query.

        ``quick_s``: a request for ``MODEL on auto`` that takes so long is quick enough: then the price decides.
        """
        self._local, self._clients, self._clock, self._observer = local, clients, clock, observer
        self._remote = [name for name in dict.fromkeys(names) if placed(name)[1] is not None]
        self._backends = [name for name in clients if name != ENDPOINT]
        self._faults: dict[str, ModelError] = {}
        """Why remote models cannot be used, by name."""
        self._choices: dict[str, PlaceChoice] = {}
        """By name with ``auto``."""
        self._rng, self._quick_s = rng or Random(), quick_s
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Start the engine here and connect to all backends; what is wrong with a model is said when it is named.

        Raises BadInput for certificates that cannot be used; nothing is left running then.
        """
        await self._local.start()
        try:
            starting = (client.start() for client in self._clients.values())
            for ended in await asyncio.gather(*starting, return_exceptions=True):
                if isinstance(ended, BaseException):
                    raise ended
            await asyncio.gather(*map(self._ready, self._remote))
        except BaseException:
            await self.stop()
            raise
        self._task = asyncio.create_task(self._follow())

    @property
    def hung(self) -> asyncio.Event:
        return self._local.hung

    async def stop(self) -> None:
        """Finish what was asked here, and end all calls."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        await self._local.stop()
        await asyncio.gather(*(client.close() for client in self._clients.values()))

    def card(self, model: str) -> ModelCard:
        if model in self._faults:
            raise self._faults[model]
        served, client = self._asked_at(model)
        return (client or self._local).card(served)

    def place_of(self, model: str, price: PriceAt = free) -> str:
        """The name under which a model is run now: for ``on auto`` that of a place, for any other itself."""
        choice = self._choices.get(model)
        return model if choice is None else choice.choose(self._clock.monotonic_s(), self._may_answer, price)

    def is_placed(self, model: str) -> bool | None:
        served, client = self._asked_at(model)
        return None if client is None else client.is_placed(served)

    async def fitted(self, model: str, width: int, height: int, detail: int | None = None) -> ModelCard:
        served, client = self._asked_at(model)
        return await (client or self._local).fitted(served, width, height, detail)

    def add_cuts(self, model: str, cuts: Sequence[str]) -> str:
        if placed(model)[1] is not None:
            raise ModelError(f"model {model!r} is run by a backend, and exits sit on networks of this process only")
        return self._local.add_cuts(model, cuts)

    async def load(self, model: str) -> float:
        if model in self._faults:
            raise self._faults[model]
        served, client = self._asked_at(model)
        if client is None:
            return await self._local.load(served)
        await client.load(served)
        return 0.0

    async def infer(self, model: str, batch: Array, urgency: Urgency, policy: RowPolicy | None = None) -> list[Array]:
        """See ``Inference``; raises BackendDown where the backend of a model does not answer."""
        began_s = self._clock.monotonic_s()
        served, client = self._asked_at(model)
        try:
            if client is None:
                answer = await self._local.infer(served, batch, urgency, policy)
            else:
                answer = await client.infer(served, batch, urgency)
        except BackendDown:
            for choice in self._choices.values():
                choice.failed(model, self._clock.monotonic_s())
            raise
        took_s = self._clock.monotonic_s() - began_s
        if not urgency.background:
            for choice in self._choices.values():
                choice.took(model, len(batch), took_s)
        if client is not None:
            self._observer.network_ran(model, len(batch), took_s)
        return answer

    def measured(self, model: str) -> VariantFigures | None:
        """See ``Backend.measured``; of remote models as the wire shows it now, None as long as nobody has looked."""
        served, client = self._asked_at(model)
        if client is None:
            return self._local.measured(served)
        tail_s = client.times(served)
        return VariantFigures(tail_s, None) if tail_s else None

    def keep(self, model: str, tail_s: Mapping[int, float]) -> VariantFigures:
        """See ``Backend.keep``; times of remote models are kept for this process only."""
        if placed(model)[1] is None:
            return self._local.keep(model, tail_s)
        served, client = self._asked_at(model)
        if client is not None:
            client.keep_times(served, tail_s)
        return VariantFigures(tail_s, None)

    def processor_s(self, model: str, shape: Size | None = None) -> float | None:
        """See ``Inference``: of a backend's model what sending it a picture takes; an endpoint's was never measured."""
        backend = placed(model)[1]
        if backend is None:
            return self._local.processor_s(model, shape)
        return None if backend == ENDPOINT else CALL_S

    async def _ready(self, model: str) -> None:
        """Connect one remote model, or one that may be anywhere."""
        served, backend = placed(model)
        if backend == ANYWHERE:
            others = [f"{served}{ON}{name}" for name in self._backends]
            for name in others:
                if (fault := await load_or_wait(self._client(name), served)) is not None:
                    log.warning("%s is run elsewhere: %s", model, fault)
            self._choices[model] = PlaceChoice([served, *others], self._rng, self._quick_s)
        elif (fault := await load_or_wait(self._client(model), served)) is not None:
            self._faults[model] = fault

    async def _follow(self) -> None:
        """Connect models of backends that were down once they are back."""
        while True:
            await sleep(self._clock, AGAIN_S)
            for name in self._waiting():
                fault = await load_or_wait(self._client(name), placed(name)[0])
                if fault is not None and not isinstance(fault, BackendDown):
                    log.warning("%s is not asked until its backend has another one: %s", name, fault)

    def _waiting(self) -> list[str]:
        """The models at places that answer again, and have not said yet what they are."""
        autos = [placed(model)[0] for model in self._choices]
        named = [name for name in self._remote if name not in self._choices and name not in self._faults]
        names = [*named, *(f"{served}{ON}{backend}" for served in autos for backend in self._backends)]
        return [name for name in names if self._client(name).waits_for(placed(name)[0])]

    def _may_answer(self, name: str) -> bool:
        """Whether a place of a model that may be anywhere can be taken: it has to show that its network is the same."""
        served, backend = placed(name)
        if backend is None:
            return True
        client = self._client(name)
        return client.may_answer and client.identity(served) == self._local.card(served).identity

    def _asked_at(self, model: str) -> tuple[str, BackendClient | EndpointsClient | None]:
        """The name of a model where it is asked, and who asks there; None: here, as is one that may be anywhere."""
        served, backend = placed(model)
        return served, None if backend in (None, ANYWHERE) else self._client(model)

    def _client(self, model: str) -> BackendClient | EndpointsClient:
        backend = placed(model)[1]
        found = self._clients.get(backend or "")
        if found is None:
            raise ModelError(f"model {model!r}: there is no backend {backend!r}")
        return found


async def load_or_wait(client: BackendClient | EndpointsClient, served: str) -> ModelError | None:
    """Load a network; where its backend is down, go on without. Returns why it can never be used, None where it may."""
    try:
        await client.load(served)
    except BackendDown as error:
        log.info("%s is asked once its backend is back: %s", served, error)
        with suppress(ModelError):
            client.card(served)
            return None
        return error
    except ModelError as error:
        return error
    return None
