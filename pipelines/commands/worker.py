"""``sluice worker``: the frames topic into results."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pipelines.commands import options
from pipelines.environment import catalogue
from pipelines.health.liveness import STALLED_AFTER_S
from pipelines.observe.web.listen import Listen
from pipelines.process.clicks import Number
from pipelines.query.nodes import NOTHING_LEARNS
from pipelines.settings import BrokerSettings, hwaccel, stalled_end_s, stream_bounds
from pipelines.worker.query_files import QueryFiles
from serving.errors import BadInput

if TYPE_CHECKING:
    from pipelines.kafka.topics import TopicsConfig
    from pipelines.worker.worker import SideWork

DIRECTORY = click.Path(path_type=Path, file_okay=False)
GROUP = r"[A-Za-z0-9._-]{1,100}"


@click.command(name="worker")
@click.argument("queries", metavar="QUERY...", nargs=-1, required=True, type=click.Path(path_type=Path))
@options.installation
@options.models
@options.sources
@click.option(
    "--start",
    type=click.Choice(["earliest", "latest"]),
    default="earliest",
    show_default=True,
    help="Where a query begins that no worker has ever begun: with the oldest frame of the topic or with the next one.",
)
@options.alive
@options.recorded
@options.served("metrics and health")
@click.option(
    "--stalled-after",
    "stalled_after_s",
    type=Number(min=1),
    default=STALLED_AFTER_S,
    show_default=True,
    metavar="SECONDS",
    help="How long frames may wait with none answered before the worker counts as unhealthy.",
)
@click.option(
    "--adapt",
    is_flag=True,
    help="Train nothing here: send samples to `sluice adapt` and take what it has trained.",
)
@click.option(
    "--group",
    metavar="NAME",
    help="The name by which workers of several queries share the frames.  [default: the folder's name]",
)
@click.option(
    "--archive",
    type=DIRECTORY,
    metavar="DIR",
    help="Do offline jobs too (`sluice submit --broker`): recordings below DIR, while live frames leave time.",
)
@click.option(
    "--job-results",
    type=DIRECTORY,
    metavar="DIR",
    help="Where results of jobs go; with --archive.",
)
def command(
    queries: tuple[Path, ...],
    at: options.Installation,
    models: tuple[Path, ...],
    sources: tuple[str, ...],
    start: str,
    alive: Path | None,
    record: options.MakeRecording | None,
    listening: Listen | None,
    stalled_after_s: float,
    adapt: bool,
    group: str | None,
    archive: Path | None,
    job_results: Path | None,
) -> None:
    """Analyse the frames topic as QUERY says and publish results. Workers of one query share the work.

    Several queries, or a folder of them, share the streams, and what they ask alike is done once. While the worker
    runs, files may be added, changed and removed: they are looked at every 2 s, and on SIGHUP.

    Give the same --source as to `sluice capture`: live streams are known by it, and drop old frames under overload.
    """
    files = QueryFiles(queries, catalogue(models), sources)
    path, _, wanted = files.first[0]
    if adapt and not any(each.query.learns for _, _, each in files.first):
        raise BadInput(f"--adapt: {NOTHING_LEARNS}, or leave --adapt out")
    _check_jobs(archive, job_results)
    broker, topics = at.broker, at.topics(wanted.query.publish.topics)
    name = group_name(files, group)
    # Engines and Faust, which a wrong query need not wait for.
    from pipelines.process.heap import few_arenas
    from pipelines.worker.process import work
    from pipelines.worker.worker import WorkerConfig

    config = WorkerConfig(
        broker=broker,
        name=name,
        frames=topics.name("frames"),
        start="earliest" if start == "earliest" else "latest",
        give_up_s=at.timeout_s,
        stalled_after_s=stalled_after_s,
        ends_after_s=stalled_end_s(),
        prefix=topics.prefix,
        topics_prefix=at.prefix,
        bounds=stream_bounds(),
        record=None if record is None else record(None if files.follows else options.manifest(path, wanted)),
        beside=None if archive is None or job_results is None else _jobs(files, broker, topics, archive, job_results),
    )
    few_arenas()
    asyncio.run(work(config, files, listening, broker if adapt else None, alive))


def _check_jobs(archive: Path | None, results: Path | None) -> None:
    if (archive is None) != (results is None):
        raise BadInput("--archive and --job-results belong together: recordings of jobs, and their results")
    if archive is not None and not archive.is_dir():
        raise BadInput(f"--archive {archive}: there is no such folder")


def _jobs(files: QueryFiles, settings: BrokerSettings, topics: TopicsConfig, archive: Path, results: Path) -> SideWork:
    from pipelines.run.jobs.chunk_taker import ChunkTaker
    from pipelines.run.jobs.job_worker import JobPlaces, JobWorker

    taker = ChunkTaker(settings, topics.name("jobs"), f"{topics.prefix}jobs")
    places = JobPlaces(archive, results, files.known, hwaccel())
    return lambda networks, late: JobWorker(places, taker, networks, late).run()


def group_name(files: QueryFiles, given: str | None) -> str:
    """The name of a worker's group: as given, the folder's, or the query's; raises BadInput."""
    if given is None and files.follows:
        if files.folder is None:
            raise BadInput("--group NAME is missing: workers of several queries share the frames by it")
        given = files.folder.resolve().name
    if given is None:
        return files.first[0][2].query.name
    if not re.fullmatch(GROUP, given):
        raise BadInput(f"--group {given!r}: at most 100 letters, digits, dots, underscores and hyphens")
    return given
