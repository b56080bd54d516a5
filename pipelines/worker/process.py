"""One worker process: the executors of its queries on the frames topic, with all that is published beside results."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from operators.observer import Observers
from pipelines.assembly.parts import Setting
from pipelines.observe.record.recorder import Keeper, keeping
from pipelines.observe.watchers import HeartbeatFile
from pipelines.observe.web.listen import Listen
from pipelines.process.signals import (
    end_when_the_loop_hangs,
    end_within,
    stop_loop_on_signals,
    stop_when_hung,
)
from pipelines.process.tasks import meanwhile
from pipelines.schedule.load_report import process_name
from pipelines.schedule.worker_side import WorkerSide
from pipelines.settings import BrokerSettings
from pipelines.worker.common import Common
from pipelines.worker.following import Following
from pipelines.worker.open_queries import OpenQueries
from pipelines.worker.query_files import QueryFiles
from pipelines.worker.query_lives import Roster
from pipelines.worker.worker import WorkerConfig, run_worker

if TYPE_CHECKING:
    from pipelines.observe.station import Station


ENDING_S = 60
"""A worker that is stalled for good ends within so many seconds, also where it cannot finish what it has in work."""


async def work(
    config: WorkerConfig,
    files: QueryFiles,
    listen: Listen | None = None,
    adapted_at: BrokerSettings | None = None,
    alive: Path | None = None,
) -> None:
    """Analyse the frames topic for the queries in these files until a signal comes.

    ``listen``: where metrics and health are served; None: nowhere. ``adapted_at``: the broker of the adaptation worker
    that trains for this one; None: this one trains itself. ``alive``: the file that says how it is.
    """
    with keeping(config.record) as keeper:
        station = _station(listen, keeper)
        first = [wanted for _, _, wanted in files.first]
        instead: dict[str, list[str]] = {}
        fleet = WorkerSide(process_name(), instead)
        watching = [HeartbeatFile(alive), *(station.observers if station else ()), fleet.meter]
        observers = Observers([config.observers, *watching])
        config = replace(config, observers=observers, ending=partial(end_within, ENDING_S))
        # Audits that wait at the end are given up: nobody would hear what they find.
        setting = Setting(observers=observers, fleet=fleet.tools)
        topics = first[0].query.publish.topics.with_prefix(config.topics_prefix)
        async with (
            station.open() if station else nullcontext(),
            fleet.linked(config.broker, topics),
            Common(files.known, setting) as common,
            nullcontext()
            if config.beside is None
            else meanwhile(config.beside(common.networks, lambda: fleet.meter.late)),
        ):
            fleet.runs(common.networks)
            queries = OpenQueries(config, common, instead, adapted_at, keeper)
            if station is not None:
                station.knows(queries.plans)
            following = Following(files, queries)
            await following.open()
            followed = _followed(following) if files.follows else nullcontext()
            await _work(config, queries.roster, followed, common.networks.hung)


async def _work(
    config: WorkerConfig, roster: Roster, following: AbstractAsyncContextManager[None], hung: asyncio.Event
) -> None:
    with stop_loop_on_signals() as stop:
        async with stop_when_hung(hung, stop), end_when_the_loop_hangs(config.ends_after_s), following:
            await run_worker(config, roster, stop=stop)


@asynccontextmanager
async def _followed(following: Following) -> AsyncIterator[None]:
    """Look at the files while the block runs, at once on SIGHUP."""
    loop, asked = asyncio.get_running_loop(), asyncio.Event()
    loop.add_signal_handler(signal.SIGHUP, asked.set)
    try:
        async with meanwhile(following.run(asked)):
            yield
    finally:
        loop.remove_signal_handler(signal.SIGHUP)


def _station(listen: Listen | None, keeper: Keeper | None) -> Station | None:
    """Who serves metrics and health; nobody where nothing is to be served."""
    if listen is None:
        return None
    from pipelines.observe.station import Station  # aiohttp and Prometheus

    station = Station(listen)
    if keeper is not None:
        station.evidence(keeper)
    return station
