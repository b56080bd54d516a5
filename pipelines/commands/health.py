"""``sluice health``: what container engines ask every few seconds, so it imports next to nothing."""

from __future__ import annotations

import time
from pathlib import Path

import click

from pipelines.health.heartbeat import MAX_AGE_S, ailment
from pipelines.process.clicks import Number
from serving.errors import Unavailable


@click.command(name="health")
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--max-age",
    "max_age_s",
    type=Number(min=0, min_open=True),
    default=MAX_AGE_S,
    show_default=True,
    metavar="SECONDS",
    help="The age at which the file counts as stale.",
)
def command(file: Path, max_age_s: float) -> None:
    """Exit 0 while FILE, given to a command of Sluice as --alive, says that all is well.

    Else 1, with the reason in one line: what the process says, or that it says nothing any more.
    """
    problem = ailment(file, max_age_s, time.time())
    if problem is not None:
        raise Unavailable(problem)
