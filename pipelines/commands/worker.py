"""``sluice worker``: the frames topic into results."""

from __future__ import annotations

import asyncio
from pathlib import Path

import click

from cache_adapt.audit_state import Rule
from pipelines.audits import Audits
from pipelines.build import build_executor
from pipelines.check import open_query
from pipelines.commands import options
from pipelines.deriving import Lifecycles
from pipelines.kafka_memory import Remembering
from pipelines.models import backend, catalogue
from pipelines.partition import TopicNames
from pipelines.plan_publisher import PlanPublisher
from pipelines.query import Query
from pipelines.settings import broker_settings
from pipelines.specializing import specializing
from pipelines.stopping import stop_loop_on_signals
from pipelines.topics import TopicsConfig
from pipelines.worker import WorkerConfig, run_worker
from serving.catalogue import Catalogue
from specialization.specializer import ProcessSpecializer


@click.command(name="worker")
@click.argument("query", type=click.Path(path_type=Path))
@options.broker
@options.broker_timeout
@options.models
@options.sources
@click.option(
    "--start",
    type=click.Choice(["earliest", "latest"]),
    default="earliest",
    show_default=True,
    help="Where the first worker of a query begins: with the oldest frame of the topic or with the next one.",
)
@options.alive
@options.prefix
def command(
    query: Path,
    broker: str | None,
    broker_timeout_s: float,
    models: tuple[Path, ...],
    sources: tuple[str, ...],
    start: str,
    alive: Path | None,
    prefix: str | None,
) -> None:
    """Analyse the frames topic as QUERY says and publish results. Workers of one query share the work.

    Give the same --source as to `sluice capture`: live streams are known by it, and drop old frames under overload.
    """
    settings = broker_settings(broker)
    known = catalogue(models)
    wanted, _ = open_query(query, known, sources)
    topics = wanted.publish.topics.with_prefix(prefix)
    config = WorkerConfig(
        broker=settings,
        query=wanted.name,
        topics=TopicNames(*(topics.name(kind) for kind in ("frames", "results", "events", "dlq"))),
        start="earliest" if start == "earliest" else "latest",
        give_up_s=broker_timeout_s,
        alive=alive,
        prefix=topics.prefix,
    )
    asyncio.run(_work(config, wanted, known, topics))


async def _work(config: WorkerConfig, query: Query, known: Catalogue, topics: TopicsConfig) -> None:
    with specializing(known, ProcessSpecializer()) as means:
        await _serve(config, query, known, topics, Audits(query.name, Rule(query.accuracy), means))


async def _serve(config: WorkerConfig, query: Query, known: Catalogue, topics: TopicsConfig, audits: Audits) -> None:
    engine = backend(known)
    await engine.start()
    try:
        with stop_loop_on_signals() as stop:
            executor = await build_executor(query, engine, audits=audits)
            events = query.publish.events
            derive = Lifecycles(events.update_every_s, events.end_after_s)
            plans = PlanPublisher(audits, topics.name("plans"))
            remembering = Remembering(topics.name("state"), audits.learning, audits.news())
            await run_worker(config, executor, derive, plans, remembering, stop=stop)
    finally:
        await audits.close(0.0)  # nobody would be told what they find
        await engine.stop()
