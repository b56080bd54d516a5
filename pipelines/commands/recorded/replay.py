"""``sluice replay``: does a query still find what it found?"""

from __future__ import annotations

import json
from pathlib import Path

import click

from pipelines.commands import options
from pipelines.environment import catalogue
from pipelines.observe.record.layout import Manifest
from pipelines.observe.record.reading import read_manifest
from pipelines.process.clicks import Number
from pipelines.process.terminal import say
from pipelines.query.check import open_query
from pipelines.query.dag import CompiledQuery
from pipelines.query.nodes import MOTION
from serving.common.untrusted import printable
from serving.errors import SluiceError

TOLERANCE = 0.05
"""Share of objects that may have changed, unless another one is given."""


@click.command(name="replay")
@click.argument("directory", metavar="DIR", type=click.Path(path_type=Path))
@click.argument("query", type=click.Path(path_type=Path))
@options.models
@click.option(
    "--tolerance",
    type=Number(min=0, max=1),
    default=TOLERANCE,
    show_default=True,
    metavar="SHARE",
    help="Share of the objects, 0…1, that may have changed.",
)
@click.option(
    "--output", type=click.Path(path_type=Path), metavar="DIR", help="Write pictures of the worst: then, now."
)
@click.option("--json", "as_json", is_flag=True, help="Say it in JSON.")
@click.pass_context
def command(
    ctx: click.Context,
    directory: Path,
    query: Path,
    models: tuple[Path, ...],
    tolerance: float,
    output: Path | None,
    as_json: bool,
) -> None:
    """Run the frames that --record has kept in DIR through QUERY again, and say what is found otherwise.

    Ends with 1 where more has changed than --tolerance allows: a regression test of your own cameras.
    """
    manifest = read_manifest(directory)
    wanted = open_query(query, catalogue(models))
    from pipelines.run.replay import pictures, words  # the engines, which a wrong query need not wait for
    from pipelines.run.replay.replaying import replay

    if output is not None:
        pictures.check_writable(output)
    found = replay(directory, wanted)
    if not found.compared:
        raise SluiceError(
            f"{directory}: no frame can be compared: {found.seen} were recorded, {found.lead_in} of them lead in to an "
            f"episode, and {found.unreadable} cannot be read; record for longer"
        )
    about = words.About(tolerance, notes(manifest, query, wanted))
    say(json.dumps(words.as_json(found, about), indent=2) if as_json else "\n".join(words.lines(found, about)))
    if output is not None:
        made = pictures.save_all(output, directory, found.worst, wanted.query)
        say(f"{len(made)} pictures in {output}", err=as_json)
    ctx.exit(1 if words.is_too_much(found, about) else 0)


def notes(manifest: Manifest, query: Path, wanted: CompiledQuery) -> list[str]:
    """The differences between now and when the recording was made."""
    now = options.manifest(query, wanted)
    said = []
    if now.query_sha256 != manifest.query_sha256:
        said.append(f"the query is not the one that was recorded, {printable(manifest.query, 60)}")
    for name in sorted(manifest.versions.keys() | now.versions.keys()):
        was, is_now = (printable(each.versions.get(name, "none"), 40) for each in (manifest, now))
        if was != is_now:
            said.append(f"{printable(name, 60)} was {was}, and is {is_now} now")
    if any(MOTION in node.models for node in wanted.dag.nodes):
        said.append(f"{MOTION} depends on all frames that came before, and not all were kept: expect differences")
    return said
