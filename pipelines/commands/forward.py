"""``sluice forward``: events to MQTT and webhooks."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pipelines.commands import options
from pipelines.observe.forward.sinks_file import SinksFile, load_sinks
from pipelines.observe.web.listen import Listen
from pipelines.process.signals import stop_loop_on_signals
from pipelines.process.terminal import say

if TYPE_CHECKING:
    from pipelines.observe.forward.forwarder import ForwardConfig
    from pipelines.observe.forward.sink import Sinks


@click.command(name="forward")
@click.argument("sinks", type=click.Path(path_type=Path))
@click.option("--check", is_flag=True, help="Validate the file and what it refers to, and end.")
@options.installation
@options.alive
@options.served("metrics and health")
def command(sinks: Path, check: bool, at: options.Installation, alive: Path | None, listening: Listen | None) -> None:
    """Send events and states of streams where the file SINKS says, at least once each.

    What a sink has been told is remembered on the broker: after a restart it is told the rest.
    """
    file = load_sinks(sinks)
    settings, topics = None if check else at.broker, at.topics()
    # Clients of Kafka, MQTT and HTTP, which a wrong file need not wait for.
    from pipelines.observe.forward.forwarder import ForwardConfig
    from pipelines.observe.forward.opening import open_sinks

    opened = open_sinks(file, sinks)
    if settings is None:
        say("\n".join(_lines(file)))
        return
    asyncio.run(_forward(ForwardConfig(settings, topics, at.timeout_s), opened, listening, alive))


async def _forward(config: ForwardConfig, sinks: Sinks, listen: Listen | None, alive: Path | None) -> None:
    from pipelines.observe.forward.forwarder import Forwarder
    from pipelines.observe.watchers import watched

    with stop_loop_on_signals() as stop:
        async with watched(listen, alive) as observers:
            await Forwarder(replace(config, observers=observers), sinks).run(stop)


def _lines(file: SinksFile) -> list[str]:
    """Each sink with the events that it will be told."""
    lines = [f"ok: {len(file.sinks)} sink{'s' if len(file.sinks) > 1 else ''}"]
    for sink in file.sinks:
        kinds, streams, labels = (", ".join(words or ["all"]) for words in (sink.kinds, sink.streams, sink.labels))
        picture = "" if sink.snapshot is None else f", snapshots of {sink.snapshot.max_width} pixels"
        lines.append(f"  {sink.to:8} {sink.name}: kinds {kinds}; streams {streams}; labels {labels}{picture}")
    return lines
