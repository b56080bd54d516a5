"""A backend's part in a fleet: it tells what it is asked for and what it has loaded, and serves what it is to serve."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from pipelines.kafka.topics import TopicsConfig
from pipelines.measure.process_meter import ProcessMeter
from pipelines.process.tasks import meanwhile
from pipelines.schedule.fleet_link import FleetLink
from pipelines.schedule.load_report import LoadReport, ProcessFacts
from pipelines.schedule.member import Member
from pipelines.schedule.models_here import models_here
from pipelines.settings import BrokerSettings
from serving.backend import Backend
from serving.catalogue.lookup import Catalogue
from serving.common.clock import SYSTEM, Clock, sleep
from serving.errors import SluiceError
from serving.profiling.in_service import quiet_times
from serving.remote.server.inference_service import Membership
from serving.remote.session_meter import SessionMeter
from serving.scheduling.requests import BACKGROUND

log = logging.getLogger(__name__)

LOOK_S = 10.0
"""Time between two looks for networks that nobody has measured."""


class BackendSide:
    """Used from one event loop; ``meter`` must hear what happens in the process, ``membership`` what it is asked."""

    def __init__(self, facts: ProcessFacts, known: Catalogue, directory: Path, clock: Clock = SYSTEM) -> None:
        """``directory``: where profiles lie."""
        self._known, self._directory, self._clock = known, directory, clock
        self.meter, sessions = ProcessMeter(), SessionMeter()
        self.membership = Membership(facts.id, sessions)
        self._report = LoadReport(
            facts, self.meter, sessions, lambda uses: models_here(known, directory, uses), clock.monotonic_s()
        )

    def leave(self) -> None:
        """It takes no more work: say so."""
        self._report.leaving = True

    @asynccontextmanager
    async def linked(self, settings: BrokerSettings, topics: TopicsConfig, engine: Backend) -> AsyncIterator[None]:
        """Tell and obey while the block runs."""
        member = Member(self.membership.process, engine, self._obeyed)
        link = FleetLink(settings, topics, self._report, member.heed, self._clock)
        async with link.running(), meanwhile(member.run()), meanwhile(self._measuring(engine)):
            yield

    def _obeyed(self, epoch: int) -> None:
        self._report.epoch = epoch

    async def _measuring(self, engine: Backend) -> None:
        """Measure, once each and beside all else, networks that are loaded and have no times on this machine."""
        tried: set[str] = set()
        while True:
            await asyncio.sleep(LOOK_S)
            for model, use in self.meter.networks().items():
                if use.loaded and model not in tried:
                    tried.add(model)
                    await self._measure(engine, model)

    async def _measure(self, engine: Backend, model: str) -> None:
        try:
            if engine.measured(model) is not None:
                return
        except SluiceError:
            pass  # what was measured holds no more
        try:
            times_s = await quiet_times(
                engine.card(model),
                lambda items: engine.infer(model, items, BACKGROUND),
                self._clock.monotonic_s,
                lambda rest_s: sleep(self._clock, rest_s),
            )
            engine.keep(model, times_s)
        except SluiceError as error:
            log.warning("%s cannot be measured: %s", model, error)
