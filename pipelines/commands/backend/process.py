"""One backend process, from its start to its end: doors, networks that are loaded first, health, and draining."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING

from operators.detect.decoding import decode
from operators.observer import Observers
from pipelines.commands.backend.doors import Doors
from pipelines.environment import artefacts_dir, backend
from pipelines.health.heartbeat import INTERVAL_S
from pipelines.kafka.topics import TopicsConfig
from pipelines.observe.watchers import HeartbeatFile
from pipelines.process.heap import giving_back, machine_memory_bytes
from pipelines.process.signals import end_when_the_loop_hangs, end_within, stop_loop_on_signals, stop_when_hung
from pipelines.process.tasks import meanwhile, unless
from pipelines.settings import BrokerSettings, model_memory
from serving.backend import Backend
from serving.catalogue.lookup import Catalogue
from serving.remote.server.admission import ServerLimits
from serving.remote.server.grpc_server import GrpcAddress, grpc_serving
from serving.remote.server.inference_service import InferenceService, ServedEngine, unheard

if TYPE_CHECKING:
    from pipelines.commands.backend.page import BackendPage
    from pipelines.schedule.backend_side import BackendSide

log = logging.getLogger(__name__)

ENDING_S = 10.0
"""After the time for draining, what still hangs is ended after so many seconds more."""
DRAINING = "the backend ends: ask another one"


@dataclass(frozen=True)
class FleetConfig:
    """The fleet that a backend is part of."""

    settings: BrokerSettings
    topics: TopicsConfig
    device: str
    """The kind of device that it has."""
    name: str = ""
    """For people."""


@dataclass(frozen=True)
class BackendConfig:
    doors: Doors
    limits: ServerLimits = field(default_factory=ServerLimits)
    load: Sequence[str] = ()
    """Networks that are loaded before it is ready."""
    drain_s: float = 30.0
    """Time that requests in flight are given at the end."""
    alive: Path | None = None
    fleet: FleetConfig | None = None
    """None: nobody schedules it."""
    hangs_after_s: float = 300.0
    """The process ends where its event loop stands still for so long."""


async def serve_networks(config: BackendConfig, known: Catalogue) -> None:
    """Serve until a signal comes; raises ModelError for a network that cannot be loaded, BadInput for an address."""
    page = _page(config)
    fleet = None if config.fleet is None else _member(config, config.fleet, known)
    watching = Observers([HeartbeatFile(config.alive), *([] if page is None else page.observers)])
    engine = backend(known, Observers([watching, *([] if fleet is None else [fleet.meter])]))
    served = ServedEngine(engine, known, artefacts_dir(), decode)
    service = InferenceService(
        served,
        config.limits,
        ended=unheard if page is None else page.ended,
        fleet=None if fleet is None else fleet.membership,
    )
    await engine.start()
    try:
        with stop_loop_on_signals() as stop:
            async with (
                stop_when_hung(engine.hung, stop),
                end_when_the_loop_hangs(config.hangs_after_s),
                _open(config, service, page, fleet),
                meanwhile(_told(service, watching)),
                meanwhile(giving_back()),
                _linked(config, fleet, engine),
            ):
                await _serve(config, engine, service, stop, fleet)
    finally:
        await engine.stop()


def _member(config: BackendConfig, fleet: FleetConfig, known: Catalogue) -> BackendSide:
    from pipelines.schedule.backend_side import BackendSide  # Kafka's client
    from pipelines.schedule.load_report import ProcessFacts, process_name

    process = process_name()
    name, room = fleet.name or process.partition("/")[0], model_memory() or machine_memory_bytes()
    facts = ProcessFacts(process, "backend", name, device=fleet.device, memory_bytes=room)
    log.info("placements call this backend %s, of the kind %s", process, fleet.device)
    return BackendSide(facts, known, artefacts_dir())


def _linked(config: BackendConfig, side: BackendSide | None, engine: Backend) -> AbstractAsyncContextManager[None]:
    if side is None or config.fleet is None:
        return nullcontext()
    return side.linked(config.fleet.settings, config.fleet.topics, engine)


def _page(config: BackendConfig) -> BackendPage | None:
    if config.doors.http is None:
        return None
    from pipelines.commands.backend.page import BackendPage  # aiohttp and Prometheus

    return BackendPage(config.doors.http)


@asynccontextmanager
async def _open(
    config: BackendConfig, service: InferenceService, page: BackendPage | None, fleet: BackendSide | None
) -> AsyncIterator[None]:
    """Listen while the block runs, and have the fleet told where."""
    doors, tls = config.doors, config.doors.certificates
    if doors.in_the_clear:
        log.warning("pictures and the token travel in the clear: give --cert and --key where the network is not yours")
    async with AsyncExitStack() as stack:
        port = await stack.enter_async_context(
            grpc_serving(GrpcAddress(doors.grpc, tls, doors.token), service, config.limits)
        )
        at = doors.grpc if not port else f"grpc://{doors.grpc.rpartition(':')[0]}:{port}"
        log.info("listening at %s", at)
        if fleet is not None:
            fleet.listens(at)
        if page is not None:
            context = None if tls is None else tls.context()
            await stack.enter_async_context(page.serving(service, config.limits.wire, context))
        yield


async def _serve(
    config: BackendConfig, engine: Backend, service: InferenceService, stop: asyncio.Event, fleet: BackendSide | None
) -> None:
    if await unless(stop, _loaded(config, engine)):
        service.admission.open()
        log.info("ready")
    await stop.wait()
    service.admission.drain(DRAINING)
    if fleet is not None:
        fleet.leave()
    end_within(ceil(config.drain_s + ENDING_S), "what was in flight did not end: the process ends here")
    with suppress(TimeoutError):
        async with asyncio.timeout(config.drain_s):
            await service.admission.idle()
    if service.admission.requests:
        log.warning("%d requests were given up", service.admission.requests)


async def _loaded(config: BackendConfig, engine: Backend) -> None:
    for model in config.load:
        await engine.load(model)


async def _told(service: InferenceService, watching: Observers) -> None:
    """Say every second how it is, from the loop that does the work."""
    while True:
        unready = service.admission.unready
        if unready is None:
            watching.worker_checked({}, 0.0, None)
        else:
            watching.worker_waits(unready)
        await asyncio.sleep(INTERVAL_S)
