"""Options that several subcommands share."""

from __future__ import annotations

from pathlib import Path

import click

broker = click.option(
    "--broker", metavar="URL", help="The Kafka broker, kafka://HOST:PORT[,HOST:PORT…]; also from SLUICE_BROKER."
)

broker_timeout = click.option(
    "--broker-timeout",
    "broker_timeout_s",
    type=click.FloatRange(min=0),
    default=60.0,
    show_default=True,
    metavar="SECONDS",
    help="How long to try a broker that does not answer.",
)

prefix = click.option(
    "--prefix", metavar="PREFIX", help="Begins the topics' names.  [default: the query's, or sluice.]"
)

alive = click.option(
    "--alive",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Say in FILE whether all is well: see `sluice health`.",
)

models = click.option(
    "--models",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="A directory of models, searched first; repeatable.",
)

limit = click.option(
    "--limit", type=click.IntRange(min=1), metavar="N", help="End each stream after this many sampled frames."
)

give_up = click.option(
    "--give-up",
    "give_up_s",
    type=click.FloatRange(min=0, min_open=True),
    metavar="SECONDS",
    help="End a stream whose camera gave no frame for this long.  [default: try for ever]",
)

sources = click.option(
    "--source", "sources", multiple=True, metavar="URI", help="In place of the query's streams; repeatable."
)
