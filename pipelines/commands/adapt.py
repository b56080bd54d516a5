"""``sluice adapt``: trains on what the workers of a query see, for all of them."""

from __future__ import annotations

import asyncio
from pathlib import Path

import click

from pipelines.commands import options
from pipelines.environment import catalogue
from pipelines.observe.web.listen import Listen
from pipelines.query.check import open_query
from pipelines.query.nodes import NOTHING_LEARNS
from serving.errors import BadInput


@click.command(name="adapt")
@click.argument("query", type=click.Path(path_type=Path))
@options.installation
@options.models
@options.alive
@options.served("metrics and health")
def command(
    query: Path,
    at: options.Installation,
    models: tuple[Path, ...],
    alive: Path | None,
    listening: Listen | None,
) -> None:
    """Train exits for all workers of QUERY that run with --adapt, on samples that they send.

    Run one for a query, on any machine: it needs neither cameras nor frames. It may use as much of one processor core,
    over time, as the query says under learning: budget.
    """
    opened = open_query(query, catalogue(models))
    wanted = opened.query
    if not wanted.learns:
        raise BadInput(NOTHING_LEARNS)
    broker, topics = at.broker, at.topics(wanted.publish.topics)
    # Statistics and clients, which a wrong query need not wait for.
    from pipelines.worker.adapt.process import adapt, adapted
    from pipelines.worker.adapt.service import ServiceConfig

    config = ServiceConfig(broker, wanted.name, topics, at.timeout_s)
    networks = adapted(opened.dag, opened.catalogue)
    asyncio.run(adapt(config, networks, wanted.learning.budget, listening, alive))
