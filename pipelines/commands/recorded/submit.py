"""``sluice submit``: recordings as a whole, here or at workers."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pipelines.commands import options
from pipelines.environment import catalogue
from pipelines.kafka.topics import TopicsConfig
from pipelines.process.signals import INTERRUPTED
from pipelines.process.terminal import say
from pipelines.query.check import open_query
from pipelines.query.dag import CompiledQuery
from pipelines.query.yaml_file import read_yaml
from pipelines.run.jobs.chunks import AT_ONCE, recordings
from pipelines.run.overwriting import keep_apart
from pipelines.settings import broker_settings, hwaccel
from serving.errors import BadInput, SourceError

if TYPE_CHECKING:
    from pipelines.run.jobs.submitting import JobsAt

FOLDER = click.Path(path_type=Path, file_okay=False)


@click.command(name="submit")
@click.argument("query", required=False, type=click.Path(path_type=Path))
@options.sources
@options.models
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="JSON lines; Parquet files in a folder where it ends in .parquet. At workers: a name, and the job's.",
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
@click.option("--broker", metavar="URL", help="Have workers do it that share this Kafka broker, while they have time.")
@click.option(
    "--archive",
    type=FOLDER,
    metavar="DIR",
    help="The folder of recordings that workers see as theirs; they do the job, at --broker or SLUICE_BROKER.",
)
@click.option("--status", metavar="JOB", help="Say how far a job at workers is.")
@click.option("--cancel", metavar="JOB", help="End a job at workers; its results stay.")
@options.broker_timeout
@options.prefix
@click.pass_context
def command(
    ctx: click.Context,
    query: Path | None,
    sources: tuple[str, ...],
    models: tuple[Path, ...],
    out: Path | None,
    anew: bool,
    at_once: int,
    broker: str | None,
    archive: Path | None,
    status: str | None,
    cancel: str | None,
    broker_timeout_s: float,
    prefix: str | None,
) -> None:
    """Analyse recordings by QUERY, every frame once; the same command goes on where it was broken off.

    --source takes patterns, in quotes: 'archive/**/*.mp4'. With --broker workers do it that have an --archive.
    """
    if status is not None or cancel is not None:
        if None not in (status, cancel) or query is not None or out is not None:
            raise BadInput("--status and --cancel stand alone: each is about one job that workers have")
        _ask(_jobs_at(broker, broker_timeout_s, TopicsConfig().with_prefix(prefix)), status, cancel)
        return
    if query is None or out is None:
        missing = "a query" if query is None else "where results go: --out results.jsonl, or --out results.parquet"
        raise BadInput(f"say {missing}")
    wanted = open_query(query, catalogue(models), recordings(sources))
    for stream in wanted.query.streams:
        if stream.uri.live:
            raise BadInput(f"stream {stream.id}: a camera has no end: give recordings by --source")
    if broker is not None or archive is not None:
        if anew:
            raise BadInput("--anew loses results that are here: give a job at workers another name by --out")
        topics = wanted.query.publish.topics.with_prefix(prefix)
        _submit(_jobs_at(broker, broker_timeout_s, topics), query, wanted, out, archive)
        return
    keep_apart(query, wanted, {"--out": out})
    from pipelines.process.heap import few_arenas
    from pipelines.run.jobs.local import LocalJob, run_job  # the engines, which a wrong query need not wait for

    few_arenas()
    if not run_job(LocalJob(wanted, read_yaml(query).data, out, anew, at_once, hwaccel())):
        say("interrupted: the same command goes on from here", err=True)
        ctx.exit(INTERRUPTED)


def _jobs_at(broker: str | None, patience_s: float, topics: TopicsConfig) -> JobsAt:
    from pipelines.run.jobs.submitting import JobsAt  # a client of Kafka

    return JobsAt(broker_settings(broker), topics.name("jobs"), f"{topics.prefix}jobs", patience_s)


def _ask(at: JobsAt, status: str | None, cancel: str | None) -> None:
    from pipelines.run.jobs.submitting import cancel as end
    from pipelines.run.jobs.submitting import standing

    if cancel is not None:
        end(at, cancel)
    say(standing(at, status or cancel or "").text(datetime.now(UTC)))


def _submit(at: JobsAt, query: Path, wanted: CompiledQuery, out: Path, archive: Path | None) -> None:
    from pipelines.run.jobs.job_query import job_query
    from pipelines.run.jobs.submitting import NewJob, job_name, submit

    if archive is None:
        raise BadInput("--archive DIR is missing: the folder of recordings that workers see as theirs")
    text, (name, form) = query.read_text(encoding="utf-8"), job_name(out)
    job_query(text, "any", archive, wanted.catalogue)
    found = submit(at, NewJob(name, form, text, wanted.query.streams, archive))
    said = f"job {name}: {found.chunks} chunks of {found.recordings} recordings wait for workers"
    say(f"{said}: `sluice submit --status {name}`")
    for why in found.unreadable.values():
        say(f"left out: {why}", err=True)
    if found.unreadable:
        raise SourceError(f"{len(found.unreadable)} of {len(wanted.query.streams)} recordings could not be read")
