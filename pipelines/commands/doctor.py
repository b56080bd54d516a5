"""``sluice doctor``: what this machine has for Sluice, and what is missing, with the command to get it."""

from __future__ import annotations

import asyncio
import json
from dataclasses import asdict
from pathlib import Path

import click

from pipelines.commands import options
from pipelines.environment import catalogue
from pipelines.process.terminal import say
from pipelines.settings import BrokerSettings, broker_settings, is_broker_set

MARKS = {"ok": ("ok", "green"), "note": ("note", "cyan"), "missing": ("missing", "yellow")}


@click.command(name="doctor")
@options.broker
@options.models
@click.option("--json", "as_json", is_flag=True, help="Say it in JSON.")
@click.pass_context
def command(ctx: click.Context, broker: str | None, models: tuple[Path, ...], as_json: bool) -> None:
    """Look at this machine: engines, precisions, GPU, decoders, models, broker, memory.

    Ends with status 1 where something is missing; each such line says what to do.
    """
    settings: BrokerSettings | None = broker_settings(broker) if broker or is_broker_set() else None
    known = catalogue(models)
    # The libraries that are looked at.
    from pipelines.measure.findings import findings
    from pipelines.measure.machine import this_machine

    url = refusal = None
    if settings is not None:
        from pipelines.kafka.async_clients import knock

        refused, url = asyncio.run(knock(settings)), settings.url
        refusal = refused.text if refused is not None else None
    found = findings(this_machine(known, url, refusal))
    if as_json:
        say(json.dumps([asdict(each) for each in found], indent=2))
    else:
        for each in found:
            word, colour = MARKS[each.state]
            say(f"{word:8} {each.what:13} {each.said}", fg=colour if each.state != "ok" else None)
            if each.remedy:
                say(f"{'':22} → {each.remedy}")
    ctx.exit(1 if any(each.state == "missing" for each in found) else 0)
