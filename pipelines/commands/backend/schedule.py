"""``sluice schedule``: says which backend serves what, and how many there should be."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import click

from pipelines.commands import options
from pipelines.environment import artefacts_dir, catalogue, measured
from pipelines.process.clicks import Number
from pipelines.process.terminal import say
from serving.errors import BadInput, ModelError

DEFAULT_LISTEN = "127.0.0.1:8471"
FILE = click.Path(path_type=Path)


@click.command(name="schedule")
@options.installation
@click.option("--machines", type=FILE, metavar="FILE", help="Kinds of machines that can be had, with their prices.")
@click.option(
    "--every",
    "every_s",
    type=Number(3, 3600),
    default=30.0,
    show_default=True,
    metavar="SECONDS",
    help="Time between two plans; large changes make one sooner.",
)
@click.option(
    "--most",
    type=click.IntRange(1, 100_000),
    default=2000,
    show_default=True,
    metavar="N",
    help="Processes that are heard; further ones are left out.",
)
@click.option(
    "--frames-for-one",
    type=click.IntRange(1, 1_000_000),
    default=100,
    show_default=True,
    metavar="N",
    help="Frames that may wait for each worker before one more is wanted.",
)
@click.option(
    "--listen",
    metavar="HOST:PORT",
    default=DEFAULT_LISTEN,
    show_default=True,
    help="Serve wanted numbers, metrics and health.",
)
@click.option("--secret-file", type=FILE, metavar="FILE", help=options.FIRST_LINE)
@options.alive
@options.models
@click.option("--simulate", type=FILE, metavar="FILE", help="Print the plan for a fleet on paper, and end.")
@click.option("--json", "as_json", is_flag=True, help="With --simulate: as JSON.")
def command(
    at: options.Installation,
    machines: Path | None,
    every_s: float,
    most: int,
    frames_for_one: int,
    listen: str,
    secret_file: Path | None,
    alive: Path | None,
    models: tuple[Path, ...],
    simulate: Path | None,
    as_json: bool,
) -> None:
    """Place the sessions of all workers on the backends of a fleet, and say how many of each there should be.

    Run one, or several of which one leads. Autoscalers read the numbers over HTTP.
    """
    if simulate is not None:
        say(_simulated(simulate, models, as_json))
        return
    if as_json:
        raise BadInput("--json belongs to --simulate FILE: give that too, or leave it out")
    settings, topics = at.broker, at.topics()
    listening = options.listen_at(listen, secret_file)
    from pipelines.schedule.epochs import EpochTerms
    from pipelines.schedule.fleet_view import ViewBounds
    from pipelines.schedule.machines import read_machines
    from pipelines.schedule.numbers import schedule
    from pipelines.schedule.service import ScheduleConfig

    terms = EpochTerms([] if machines is None else read_machines(machines), frames_for_one)
    bounds = ViewBounds(processes=most)
    config = ScheduleConfig(settings, topics, terms, every_s, at.timeout_s, bounds)
    asyncio.run(schedule(config, listening, alive))


def _simulated(path: Path, models: tuple[Path, ...], as_json: bool) -> str:
    from pipelines.schedule.paper_fleet import simulated
    from serving.loading.opening import prefix_shares
    from serving.variants.artefacts import resolve

    known = catalogue(models)
    find = measured(known)

    def here(model: str) -> tuple[dict[int, float], dict[str, float]] | None:
        try:
            found = find(model)
            shares = {} if found is None else prefix_shares(resolve(model, known, artefacts_dir()))
        except ModelError:
            return None
        return None if found is None else (dict(found.tail_s), shares)

    plan = simulated(path, here)
    return json.dumps(plan.as_json(), indent=2) if as_json else str(plan)
