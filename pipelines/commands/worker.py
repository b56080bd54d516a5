"""``sluice worker``: the frames topic into results."""

from __future__ import annotations

import asyncio
from pathlib import Path

import click

from pipelines.commands import options
from pipelines.environment import catalogue
from pipelines.health.liveness import STALLED_AFTER_S
from pipelines.query.check import open_query
from pipelines.query.nodes import NOTHING_LEARNS
from pipelines.settings import broker_settings, stalled_end_s, stream_bounds
from serving.errors import BadInput


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
    help="Where a query begins that no worker has ever begun: with the oldest frame of the topic or with the next one.",
)
@options.alive
@options.recorded
@options.served("metrics and health")
@click.option(
    "--stalled-after",
    "stalled_after_s",
    type=click.FloatRange(min=1),
    default=STALLED_AFTER_S,
    show_default=True,
    metavar="SECONDS",
    help="How long frames may wait with none answered before the worker counts as unhealthy.",
)
@click.option(
    "--adapt",
    is_flag=True,
    help="Train nothing here: send samples to `sluice adapt` and take what it has trained.",
)
@options.prefix
def command(
    query: Path,
    broker: str | None,
    broker_timeout_s: float,
    models: tuple[Path, ...],
    sources: tuple[str, ...],
    start: str,
    alive: Path | None,
    record: Path | None,
    record_mb: int | None,
    serve: bool,
    listen: str | None,
    secret_file: Path | None,
    stalled_after_s: float,
    adapt: bool,
    prefix: str | None,
) -> None:
    """Analyse the frames topic as QUERY says and publish results. Workers of one query share the work.

    Give the same --source as to `sluice capture`: live streams are known by it, and drop old frames under overload.
    """
    settings = broker_settings(broker)
    listening = options.listening(serve, listen, secret_file)
    wanted = open_query(query, catalogue(models), sources)
    if adapt and not wanted.query.learns:
        raise BadInput(f"--adapt: {NOTHING_LEARNS}, or leave --adapt out")
    topics = wanted.query.publish.topics.with_prefix(prefix)
    recording = options.recording(record, record_mb, query, wanted)
    # Engines and Faust, which a wrong query need not wait for.
    from operators.transports.faust_import import import_faust

    import_faust()
    from pipelines.process.heap import few_arenas
    from pipelines.worker.kafka_transport import KafkaTransport
    from pipelines.worker.process import work
    from pipelines.worker.worker import WorkerConfig

    config = WorkerConfig(
        transport=KafkaTransport(settings),
        name=wanted.query.name,
        frames=topics.name("frames"),
        start="earliest" if start == "earliest" else "latest",
        give_up_s=broker_timeout_s,
        alive=alive,
        stalled_after_s=stalled_after_s,
        ends_after_s=stalled_end_s(),
        prefix=topics.prefix,
        bounds=stream_bounds(),
        record=recording,
    )
    few_arenas()
    asyncio.run(work(config, wanted, topics, listening, settings if adapt else None))
