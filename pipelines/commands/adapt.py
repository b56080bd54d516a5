"""``sluice adapt``: trains on what the workers of a query see, for all of them."""

from __future__ import annotations

import asyncio
from pathlib import Path

import click

from pipelines.commands import options
from pipelines.environment import catalogue
from pipelines.query.check import open_query
from pipelines.query.nodes import NOTHING_LEARNS
from pipelines.settings import broker_settings
from serving.errors import BadInput


@click.command(name="adapt")
@click.argument("query", type=click.Path(path_type=Path))
@options.broker
@options.broker_timeout
@options.models
@options.alive
@options.served("metrics and health")
@options.prefix
def command(
    query: Path,
    broker: str | None,
    broker_timeout_s: float,
    models: tuple[Path, ...],
    alive: Path | None,
    serve: bool,
    listen: str | None,
    secret_file: Path | None,
    prefix: str | None,
) -> None:
    """Train exits for all workers of QUERY that run with --adapt, on samples that they send.

    Run one for a query, on any machine: it needs neither cameras nor frames. It may use as much of one processor core,
    over time, as the query says under learning: budget.
    """
    settings = broker_settings(broker)
    listening = options.listening(serve, listen, secret_file)
    opened = open_query(query, catalogue(models))
    wanted = opened.query
    if not wanted.learns:
        raise BadInput(NOTHING_LEARNS)
    # Statistics and clients, which a wrong query need not wait for.
    from pipelines.worker.adapt.nodes import adapted
    from pipelines.worker.adapt.process import adapt
    from pipelines.worker.adapt.service import ServiceConfig

    config = ServiceConfig(settings, wanted.name, wanted.publish.topics.with_prefix(prefix), broker_timeout_s, alive)
    networks = adapted(opened.dag, opened.catalogue)
    asyncio.run(adapt(config, networks, wanted.learning.budget, listening))
