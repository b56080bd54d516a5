"""``sluice submit``: recordings as a whole."""

from __future__ import annotations

from pathlib import Path

import click

from pipelines.commands import options
from pipelines.environment import catalogue
from pipelines.process.terminal import say
from pipelines.query.check import open_query
from pipelines.query.yaml_file import read_yaml
from pipelines.run.jobs.archive import AT_ONCE, recordings
from pipelines.settings import hwaccel
from serving.errors import BadInput

INTERRUPTED = 130


@click.command(name="submit")
@click.argument("query", type=click.Path(path_type=Path))
@options.sources
@options.models
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="JSON lines; a folder of Parquet files where it ends in .parquet.",
)
@click.option("--anew", is_flag=True, help="Lose the results that are there.")
@click.option(
    "--at-once",
    type=click.IntRange(1, 64),
    default=AT_ONCE,
    show_default=True,
    metavar="N",
    help="Recordings that are analysed at the same time.",
)
@click.pass_context
def command(
    ctx: click.Context,
    query: Path,
    sources: tuple[str, ...],
    models: tuple[Path, ...],
    out: Path | None,
    anew: bool,
    at_once: int,
) -> None:
    """Analyse recordings by QUERY, every frame once; the same command goes on where it was broken off.

    --source takes patterns, in quotes: 'archive/**/*.mp4'.
    """
    if out is None:
        raise BadInput(
            "say where results go: --out results.jsonl, or --out results.parquet for a folder of Parquet files"
        )
    wanted = open_query(query, catalogue(models), recordings(sources))
    for stream in wanted.query.streams:
        if stream.uri.live:
            raise BadInput(f"stream {stream.id}: a camera has no end: give recordings by --source")
    from pipelines.process.heap import few_arenas
    from pipelines.run.jobs.local import LocalJob, run_job  # the engines, which a wrong query need not wait for

    few_arenas()
    versions = options.model_versions(wanted)
    job = LocalJob(wanted, read_yaml(query).data, versions, out, anew, at_once, hwaccel())
    if not run_job(job):
        say("interrupted: the same command goes on from here", err=True)
        ctx.exit(INTERRUPTED)
