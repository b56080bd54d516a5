"""A backend obeys placements: it loads what it is to serve, says so once all is ready, and lets go of the rest."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import TYPE_CHECKING

from operators.wire.schema import BackendPlacement, FleetPlacement
from serving.errors import SluiceError

if TYPE_CHECKING:
    from serving.backend import Backend

log = logging.getLogger(__name__)

DRAIN_S = 8.0
"""A network that is to go is kept for so long: workers hear of the placement, and of what is ready elsewhere."""


class Member:
    """Used from one event loop."""

    def __init__(self, process: str, networks: Backend, obeyed: Callable[[int], None]) -> None:
        """``process``: what placements call it; ``obeyed`` hears of the epoch that it obeys from now on."""
        self._process, self._networks, self._obeyed = process, networks, obeyed
        self._placement: FleetPlacement | None = None
        self._news = asyncio.Event()
        self._faults: dict[str, str] = {}

    def heed(self, placement: FleetPlacement) -> None:
        self._placement = placement
        self._news.set()

    async def run(self) -> None:
        """Obey until this is cancelled."""
        while True:
            await self._news.wait()
            self._news.clear()
            assert self._placement is not None
            epoch = self._placement.epoch
            own = next((each for each in self._placement.backends if each.id == self._process), None)
            if own is not None:
                await self._load(own)
            self._obeyed(epoch)
            if own is not None and own.unload and not await self._is_news_within(DRAIN_S):
                await self._unload(own)

    async def _load(self, own: BackendPlacement) -> None:
        for model in dict.fromkeys(session.model for session in own.sessions):
            if self._networks.is_loaded(model):
                continue
            try:
                await self._networks.load(model)
                self._faults.pop(model, None)
            except SluiceError as error:
                if self._faults.get(model) != str(error):
                    log.warning("cannot serve %s as the scheduler has it: %s", model, error)
                self._faults[model] = str(error)

    async def _unload(self, own: BackendPlacement) -> None:
        served = {session.model for session in own.sessions}
        for model in own.unload:
            together = self._networks.run_with(model)
            if together and not together & served:
                await self._networks.unload(model)
                log.info("%s has no place here any more", model)

    async def _is_news_within(self, seconds: float) -> bool:
        try:
            async with asyncio.timeout(seconds):
                await self._news.wait()
        except TimeoutError:
            return False
        return True
