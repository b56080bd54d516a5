"""``sluice run``: everything in one process."""

from __future__ import annotations

from pathlib import Path

import click

from pipelines.check import open_query
from pipelines.commands import options
from pipelines.models import catalogue
from pipelines.running import Outputs, run_query

FILE = click.Path(path_type=Path)


@click.command(name="run")
@click.argument("query", type=FILE)
@options.sources
@options.models
@click.option("--out", metavar="FILE", help="Write results as JSON lines; - is stdout.")
@click.option("--annotate", type=FILE, metavar="FILE", help="Write a video (.mp4) or, into a directory, snapshots.")
@click.option("--report", type=FILE, metavar="FILE", help="Write the closing report as JSON.")
@click.option("--plots", type=FILE, metavar="DIR", help="Draw what specialization did, a picture for each stream.")
@options.limit
def command(
    query: Path,
    sources: tuple[str, ...],
    models: tuple[Path, ...],
    out: str | None,
    annotate: Path | None,
    report: Path | None,
    plots: Path | None,
    limit: int | None,
) -> None:
    """Analyse the streams of QUERY in this process, without a broker."""
    known = catalogue(models)
    wanted, _ = open_query(query, known, sources)
    run_query(wanted, known, Outputs(out, annotate, report, plots), limit)
