"""The backend, a node that runs models (Shen, 2019, §3.5): all networks of a process behind ``await backend.infer(…)``.

Networks are loaded when they are first asked for and leave when others need their memory. Requests of all streams wait
in one queue per session; the device runs them batch by batch and answers on the event loop.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Mapping
from pathlib import Path

from serving import profiles
from serving.artefacts import Resolved, folder, resolve, user_cache
from serving.cards import ModelCard
from serving.catalogue import Catalogue
from serving.device import Device, DeviceStats
from serving.engines.base import Array
from serving.errors import ModelError
from serving.fingerprint import fingerprint, usable_cores
from serving.loader import Loader, Opener
from serving.monitor import UNLOADED, Fare
from serving.opening import Source, open_group
from serving.requests import Request
from serving.urgency import Urgency
from serving.variants import parse

log = logging.getLogger(__name__)


class Backend:
    """Runs the catalogue's networks on one device; used from one event loop."""

    def __init__(
        self,
        catalogue: Catalogue,
        *,
        cache: Path | None = None,
        threads: int | None = None,
        max_batch: int = 16,
        memory_bytes: int | None = None,
        opener: Opener = open_group,
    ) -> None:
        """``cache``: where variants lie; ``memory_bytes``: what all loaded networks may take; None: no bound."""
        self._catalogue, self._cache = catalogue, cache or user_cache()
        self._cards: dict[str, ModelCard] = {}
        self._device = Device()
        self._loader = Loader(self._device, memory_bytes, threads or usable_cores(), max_batch, opener)

    async def start(self) -> None:
        """Start the device."""
        self._device.start()

    async def stop(self) -> None:
        """Finish what was asked so far; later requests are refused."""
        await self._device.stop()

    def card(self, model: str) -> ModelCard:
        """The card of a model, or of a variant's model, without loading it; ModelError if there is none."""
        if model not in self._cards:
            self._cards[model] = self._catalogue.find(parse(model).model).card
        return self._cards[model]

    async def load(self, model: str) -> None:
        """Verify and open a network, unless it is loaded; ModelError where that fails."""
        if self._loader.session(model) is None:
            await self._loader.load(await asyncio.to_thread(self._source, model))

    async def infer(self, model: str, batch: Array, urgency: Urgency) -> list[Array]:
        """Outputs for N × … inputs, in the card's order, first axis N.

        Raises ModelError for a batch the network does not take, TooLate for a droppable request that cannot be answered
        in time, SluiceError where the network fails or the backend has stopped.
        """
        if self._loader.session(model) is not None:
            self._loader.requested(model)
        while (session := self._loader.session(model)) is None:
            await self.load(model)
        with self._loader.pinned(model):
            session.group.check(model, batch)
            request = Request(model, batch, urgency, asyncio.get_running_loop().create_future())
            self._device.submit(session, request)
            return await request.answer

    def fare(self, model: str) -> Fare:
        """The state and the load of a model or variant, looked at every 2 s; ``UNLOADED`` where it is not loaded."""
        session = self._loader.session(model)
        return UNLOADED if session is None else session.fare(time.monotonic())

    def stats(self) -> DeviceStats:
        """A snapshot of the device's counters."""
        return self._device.stats

    def _source(self, model: str) -> Source:
        found = resolve(model, self._catalogue, self._cache)
        return Source(model, found.entry, found.variant, found.path, self._known_latency(found))

    def _known_latency(self, found: Resolved) -> Mapping[int, float]:
        """By batch size, where it was measured on this machine; what a profile lacks is learnt while serving."""
        try:
            profile = profiles.read(folder(self._cache, found.entry), found.variant)
        except ModelError as error:
            log.warning("%s", error)
            return {}
        if profile is None or profile.stale(found.entry.card.sha256, fingerprint(found.variant.engine)):
            return {}
        return profile.latency_s
