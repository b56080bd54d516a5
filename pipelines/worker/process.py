"""One worker process: a query's executor on the frames topic, with all that is published beside its results."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, nullcontext
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from operators.observer import Observers
from pipelines.assembly.engine import FleetTools
from pipelines.assembly.parts import Setting, assembled, lifecycles
from pipelines.kafka.topics import TopicsConfig
from pipelines.observe.record.recorder import Recorder, recorders
from pipelines.observe.web.listen import Listen
from pipelines.partition.dispatch import TopicNames
from pipelines.partition.sampling import thinned
from pipelines.partition.stream_state import StateConfig
from pipelines.process.signals import (
    end_when_the_loop_hangs,
    end_within,
    stop_loop_on_signals,
    stop_when_hung,
)
from pipelines.query.compiled import CompiledQuery
from pipelines.query.query_file import Query
from pipelines.schedule.names import process_name
from pipelines.schedule.worker_side import WorkerSide, alternatives
from pipelines.settings import BrokerSettings
from pipelines.worker.duties import Duties
from pipelines.worker.plan_publisher import PlanPublisher
from pipelines.worker.roster import Roster
from pipelines.worker.worker import WorkerConfig, run_worker

if TYPE_CHECKING:
    from pipelines.observe.station import Station
    from pipelines.worker.adapt.link import Link


ENDING_S = 60
"""A worker that is stalled for good ends within so many seconds, also where it cannot finish what it has in work."""


async def work(
    config: WorkerConfig,
    wanted: CompiledQuery,
    topics: TopicsConfig,
    listen: Listen | None = None,
    adapted_at: BrokerSettings | None = None,
) -> None:
    """Analyse the frames topic until a signal comes; ``topics``: where its messages go.

    ``listen``: where metrics and health are served; None: nowhere. ``adapted_at``: the broker of the adaptation worker
    that trains for this one; None: this one trains itself.
    """
    with recorders(config.record) as recording:
        station = _station(listen, recording)
        fleet = WorkerSide(process_name(), alternatives(wanted))
        watching = [*recording, *(station.observers if station else ()), fleet.meter]
        observers = Observers([config.observers, *watching])
        final_steps = [each.take for each in recording]
        config = replace(config, observers=observers, final_steps=final_steps, ending=partial(end_within, ENDING_S))
        async with (
            _linked(config, wanted.query, topics, adapted_at) as link,
            station.open() if station else nullcontext(),
            fleet.linked(config.transport.settings, topics),
        ):
            await _work(config, wanted, topics, WorkerExtras(fleet.tools, link, station))


def _station(listen: Listen | None, recording: Sequence[Recorder]) -> Station | None:
    """Who serves metrics and health; nobody where nothing is to be served."""
    if listen is None:
        return None
    from pipelines.observe.station import Station  # aiohttp and Prometheus

    station = Station(listen)
    for recorder in recording:
        station.evidence(recorder)
    return station


@asynccontextmanager
async def _linked(
    config: WorkerConfig, query: Query, topics: TopicsConfig, adapted_at: BrokerSettings | None
) -> AsyncIterator[Link | None]:
    """The link to the adaptation worker, while the block runs."""
    if adapted_at is None:
        yield None
        return
    from pipelines.worker.adapt.link import Link
    from pipelines.worker.adapt.running_link import running

    link = Link(query.name)
    async with running(link, adapted_at, topics, config.give_up_s):
        yield link


class WorkerExtras(NamedTuple):
    """A worker's parts beside its query."""

    fleet: FleetTools
    link: Link | None
    """To the adaptation worker."""
    station: Station | None


async def _work(config: WorkerConfig, wanted: CompiledQuery, topics: TopicsConfig, beside: WorkerExtras) -> None:
    # Audits that wait at the end are given up: nobody would hear what they find.
    setting = Setting(config.final_steps, observers=config.observers, elsewhere=beside.link, fleet=beside.fleet)
    async with assembled(wanted, setting) as parts:
        if beside.station is not None:
            beside.station.knows(parts.shortcuts.plans)
        with stop_loop_on_signals() as stop:
            plans = PlanPublisher(parts.shortcuts, topics.name("plans"))
            state = StateConfig(topics.name("state"), parts.shortcuts.nodes, parts.shortcuts.news.listen())
            derive = lifecycles(wanted.query, config.observers)
            duties = Duties(
                wanted.query.name, names(topics), parts.executor, derive, plans, state, thinned(wanted.query)
            )
            async with stop_when_hung(parts.hung, stop), end_when_the_loop_hangs(config.ends_after_s):
                await run_worker(config, Roster([duties]), stop=stop)


def names(topics: TopicsConfig) -> TopicNames:
    """The topics that a worker reads and writes."""
    return TopicNames(*(topics.name(kind) for kind in ("frames", "results", "events", "dlq")))
