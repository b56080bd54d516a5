"""``sluice run``: everything in one process."""

from __future__ import annotations

from pathlib import Path

import click

from pipelines.commands import options
from pipelines.environment import catalogue
from pipelines.observe.forward.sink import Sinks
from pipelines.observe.forward.sinks_file import load_sinks
from pipelines.observe.web.listen import Listen
from pipelines.process.terminal import say
from pipelines.run.given import given
from pipelines.run.overwriting import keep_apart
from pipelines.settings import hwaccel
from serving.errors import BadInput

FILE = click.Path(path_type=Path)


@click.command(name="run")
@click.argument("query")
@options.sources
@options.models
@click.option("--out", metavar="FILE", help="Write results as JSON lines; - is stdout.")
@click.option("--events", metavar="FILE", help="Write events of tracks, zones and lines as JSON lines; - is stdout.")
@click.option("--annotate", type=FILE, metavar="FILE", help="Write a video (.mp4) or, into a directory, snapshots.")
@click.option("--report", type=FILE, metavar="FILE", help="Write the closing report as JSON.")
@click.option("--forward", type=FILE, metavar="FILE", help="Send events and states where the file of sinks says.")
@options.recorded
@options.limit
@options.give_up
@options.loop
@options.served("the live page, metrics and health")
@click.option("--stay", is_flag=True, help="Keep the page when the streams have ended, until Ctrl-C; with --serve.")
def command(
    query: str,
    sources: tuple[str, ...],
    models: tuple[Path, ...],
    out: str | None,
    events: str | None,
    annotate: Path | None,
    report: Path | None,
    forward: Path | None,
    record: options.MakeRecording | None,
    limit: int | None,
    give_up_s: float | None,
    loop: bool,
    listening: Listen | None,
    stay: bool,
) -> None:
    """Analyse the streams of QUERY in this process, without a broker.

    A clip or camera in its place is looked at for people and vehicles, or, without a detector of these, for what moves.
    Several queries on the same streams are for `sluice worker`.
    """
    decoder = hwaccel()
    if stay and listening is None:
        raise BadInput("--stay keeps the page that --serve shows: give that too, or leave --stay out")
    with given(query, catalogue(models), sources, decoder) as found:
        wanted = found.wanted
        if found.notice:
            say(found.notice, err=True)
        written = {"--out": out, "--events": events, "--annotate": annotate, "--report": report}
        keep_apart(found.file, wanted, written, forward)
        sinks = None if forward is None else load_sinks(forward)
        recording = None if record is None else record(options.manifest(found.file, wanted))
    from pipelines.process.heap import few_arenas
    from pipelines.run.outputs import Outputs
    from pipelines.run.run_query import run_query  # the engines, which a wrong query need not wait for

    listeners: Sinks = ()
    if sinks is not None and forward is not None:
        from pipelines.observe.forward.opening import open_sinks  # clients of MQTT and HTTP

        listeners = open_sinks(sinks, forward)
    outputs = Outputs(out, annotate, report, listening, events, recording, listeners, stay)
    few_arenas()
    run_query(wanted, outputs, limit, give_up_s, hwaccel=decoder, loop=loop)
