"""A backend's part in a fleet: it tells what it is asked for and what it has loaded, and serves what it is to serve."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from msgspec import structs

from operators.wire.fleet import MOST_BATCHES, MOST_SESSIONS
from operators.wire.schema import BackendPlacement, BatchTime, FleetPlacement, NetworkPrefix, TimedModel
from pipelines.kafka.topics import TopicsConfig
from pipelines.measure.process_meter import NetworkUse, ProcessMeter
from pipelines.process.tasks import meanwhile
from pipelines.schedule.fleet_link import FleetLink
from pipelines.schedule.load_report import LoadReport, ProcessFacts
from pipelines.settings import BrokerSettings
from serving.backend import Backend
from serving.catalogue.lookup import Catalogue
from serving.common.clock import SYSTEM, Clock, sleep
from serving.common.explain import first_line
from serving.common.tensors import Array
from serving.common.threads import in_own_thread
from serving.errors import ModelError, SluiceError
from serving.loading.opening import prefix_shares
from serving.loading.residency import RESIDENT_PER_FILE_BYTE
from serving.profiling.in_service import quiet_times
from serving.remote.server.inference_service import Membership
from serving.remote.session_meter import SessionMeter
from serving.scheduling.requests import BACKGROUND
from serving.variants import profiles, timings
from serving.variants.artefacts import folder, resolve
from serving.variants.variant import parse

log = logging.getLogger(__name__)

LOOK_S = 10.0
"""Time between two looks for networks that nobody has measured."""


class BackendSide:
    """Used from one event loop; ``meter`` must hear what happens in the process, ``membership`` what it is asked."""

    def __init__(self, facts: ProcessFacts, known: Catalogue, directory: Path, clock: Clock = SYSTEM) -> None:
        """``directory``: where profiles lie."""
        self._models, self._clock = ModelsHere(known, directory), clock
        self.meter, sessions = ProcessMeter(), SessionMeter()
        self.membership = Membership(facts.id, sessions)
        self._report = LoadReport(facts, self.meter, sessions, self._models.timed, clock.monotonic_s())

    def listens(self, url: str) -> None:
        """Tell the fleet this address: with port 0 it is known only now."""
        self._report.facts = replace(self._report.facts, url=url)

    def leave(self) -> None:
        """It takes no more work: say so."""
        self._report.leaving = True

    @asynccontextmanager
    async def linked(self, settings: BrokerSettings, topics: TopicsConfig, engine: Backend) -> AsyncIterator[None]:
        """Tell and obey while the block runs."""
        self._report.stats = engine.stats
        member = Member(self.membership.process, engine, self._obeyed)
        link = FleetLink(settings, topics, self._report, member.heed, self._clock)
        async with link.running(), meanwhile(member.run()), meanwhile(self._measuring(engine)):
            yield

    def _obeyed(self, epoch: int) -> None:
        self._report.epoch = epoch

    async def _measuring(self, engine: Backend) -> None:
        """Look once at each network that is loaded: what it shares with others, and its times where nobody has any."""
        tried: set[str] = set()
        while True:
            await asyncio.sleep(LOOK_S)
            for model, use in self.meter.networks().items():
                if use.loaded and model not in tried and await self._looked(engine, model):
                    tried.add(model)
                    self._report.profiles_changed()

    async def _looked(self, engine: Backend, model: str) -> bool:
        """Whether that is done with, be it in vain."""
        try:
            await in_own_thread(partial(self._models.look, model), "prefixes")
            await self._measure(engine, model)
        except Exception as error:  # a graph may be odd in any way: the others are looked at all the same
            if not engine.is_loaded(model):
                return False
            log.warning("%s cannot be measured: %s", model, first_line(error))
        return True

    async def _measure(self, engine: Backend, model: str) -> None:
        with suppress(SluiceError):  # what was measured may hold no more
            if engine.measured(model) is not None:
                return

        async def infer(items: Array) -> None:
            if not engine.is_loaded(model):  # others need its memory
                raise ModelError("it was unloaded while it was measured")
            await engine.infer(model, items, BACKGROUND)

        rest = partial(sleep, self._clock)
        engine.keep(model, await quiet_times(engine.card(model), infer, self._clock.monotonic_s, rest))


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
        models = dict.fromkeys(session.model for session in own.sessions)
        self._faults = {model: said for model, said in self._faults.items() if model in models}
        for model in models:
            if self._networks.is_loaded(model):
                continue
            try:
                await self._networks.load(model)
                self._faults.pop(model, None)
            except Exception as error:  # whatever it is, the next placement is heeded
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


LEARNT = 1.25
"""Where nothing was measured, batches are expected to take so many times their mean in service."""


@dataclass(frozen=True)
class ModelsHere:
    known: Catalogue
    directory: Path
    """Where profiles lie."""
    prefixes: dict[str, list[NetworkPrefix]] = field(default_factory=dict)
    """By model that was looked at: what its network has in common with others, if they have it too."""

    def timed(self, uses: Mapping[str, NetworkUse]) -> list[TimedModel]:
        """The models and variants that have times, those in use first."""
        names = dict.fromkeys([*(name for name, use in uses.items() if use.loaded), *self.known.names()])
        found = (_timed(name, self.known, self.directory, uses.get(name, NetworkUse())) for name in names)
        told = [each for each in found if each is not None][:MOST_SESSIONS]
        return [structs.replace(each, prefixes=self.prefixes.get(each.model, [])) for each in told]

    def look(self, model: str) -> None:
        """Look at what a network computes first, which takes a while; raises ModelError."""
        found = prefix_shares(resolve(model, self.known, self.directory)).items()
        self.prefixes[model] = [NetworkPrefix(digest=digest, share=round(share, 4)) for digest, share in found]


def _timed(name: str, known: Catalogue, directory: Path, use: NetworkUse) -> TimedModel | None:
    try:
        variant = parse(name)
        entry = known.find(variant.model)
        figures = timings.measured(entry, variant, directory)
        profile = profiles.read(folder(directory, entry), variant)
    except ModelError:
        figures = profile = None
        if not use.batches:
            return None
    seconds = figures.tail_s if figures else {size: LEARNT * took_s for size, (_, took_s) in use.sizes.items()}
    if not seconds:
        return None
    memory = use.memory_bytes or (profile.memory_bytes if profile else _estimate(name, known))
    load_s = use.load_s or (profile.load_s if profile else 0.0)
    agreement = figures.agreement if figures else None
    return TimedModel(model=name, times=times(seconds), memory_bytes=memory, load_s=load_s, agreement=agreement)


def times(seconds: Mapping[int, float]) -> list[BatchTime]:
    """Seconds by batch as a message tells them: ascending, of as many sizes as one may have."""
    return [BatchTime(batch=size, ms=ms) for size, ms in _ascending(sorted(seconds.items())[:MOST_BATCHES])]


def _ascending(points: list[tuple[int, float]]) -> Iterator[tuple[int, float]]:
    longest = 1e-3
    for size, took_s in points:
        longest = max(longest, round(took_s * 1000, 4))
        yield size, longest


def _estimate(name: str, known: Catalogue) -> int:
    """From the size of its file, as long as it has not been loaded."""
    try:
        return round(known.find(parse(name).model).path.stat().st_size * RESIDENT_PER_FILE_BYTE)
    except (ModelError, OSError):
        return 0
