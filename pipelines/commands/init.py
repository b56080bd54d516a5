"""``sluice init``: from a camera and a few words to a query file that works."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from operators.capture.sources.uri import SourceUri
from operators.wire.result import MOVING
from pipelines.commands import options
from pipelines.environment import catalogue
from pipelines.process.clicks import Number
from pipelines.process.terminal import say
from pipelines.query.check import open_query
from pipelines.query.proposal import SecretFiles, finder, query_name, query_text, words_of
from pipelines.query.yaml_file import parse_yaml
from serving.common import files
from serving.errors import BadInput, SluiceError

if TYPE_CHECKING:
    from pipelines.run.first_look import FirstFrames

WAIT_S = 20.0


@click.command(name="init")
@click.argument("query", type=click.Path(path_type=Path), default=Path("query.yaml"))
@options.sources
@click.option("--find", "find", multiple=True, metavar="WORD", help="What to find, as models call it; repeatable.")
@click.option("--recognise", metavar="MODEL", help="A model that names what was found.")
@options.models
@click.option("--yes", is_flag=True, help="Ask nothing: what is not given is whatever moves.")
@click.option("--force", is_flag=True, help="Overwrite files that are there.")
@click.option("--wait", "wait_s", type=Number(min=1), default=WAIT_S, show_default=True, metavar="SECONDS",
              help="How long to wait for the first frame.")  # fmt: skip
def command(
    query: Path,
    sources: tuple[str, ...],
    find: tuple[str, ...],
    recognise: str | None,
    models: tuple[Path, ...],
    yes: bool,
    force: bool,
    wait_s: float,
) -> None:
    """Try a camera or a clip, show what is found, and write the file QUERY (query.yaml).

    Asks for what is not given, on a terminal. A password goes into a file of its own, beside the query, which names it.
    """
    asking = not yes and sys.stdin.isatty()
    known = catalogue(models)
    uris = _sources(sources, asking)
    if not find and asking:
        find = tuple(click.prompt("What to find, such as: car person", default=MOVING).replace(",", " ").split())
    if recognise is not None:
        known.find(recognise)
    found = finder(find, words_of(known), recognise)
    secrets = SecretFiles(query_name(query.stem))
    text = query_text(query_name(query.stem), uris, found, secrets)
    kept = {query.with_name(name): secret for secret, name in secrets.names.items()}
    wanted = open_query(parse_yaml(query, text), known, [uri.reveal() for uri in uris])  # with their passwords
    pictures = [query.with_name(f"{query.stem}-{stream.id}.jpg") for stream in wanted.query.streams]
    if not force:
        _refuse_to_overwrite([query, *kept, *pictures])
    say(f"trying {', '.join(str(stream.uri) for stream in wanted.query.streams)}")
    from pipelines.run.first_look import first_look  # the engines, which a mistyped word need not wait for

    seen = first_look(wanted, wait_s)
    for path, secret in kept.items():
        _write_secret(path, secret)
    files.write(query, text.encode(), mode=0o666)  # another user may run it
    by = found.detector if found.recogniser is None else f"{found.detector} and {found.recogniser}"
    say(f"wrote {query}: {', '.join(find) or 'whatever moves'}, found by {by}")
    _show(seen, pictures)
    for path in kept:
        say(f"wrote {path}, which holds a secret: keep it to yourself")
    stay = "" if any(uri.live for uri in uris) else " --stay"  # a clip ends, and would take its page along
    say(f"next: sluice run {query} --serve{stay}    # and look at it in a browser")


def _sources(given: Sequence[str], asking: bool) -> list[SourceUri]:
    if not given and asking:
        given = (click.prompt("Camera or clip (rtsp://…, v4l2:0, a file)"),)
    if not given:
        raise BadInput("no camera and no clip: give --source URI, or --source-file FILE where it has a password")
    return [_absolute(SourceUri(each)) for each in given]


def _refuse_to_overwrite(paths: Sequence[Path]) -> None:
    for path in paths:
        if path.exists():
            raise BadInput(f"{path} is there already: choose another name, or overwrite it with --force")


def _absolute(uri: SourceUri) -> SourceUri:
    """Paths in a query begin at its folder, those of a command where it was given."""
    return SourceUri(str(uri.path.resolve())) if uri.kind == "path" else uri


def _write_secret(path: Path, secret: str) -> None:
    """Readable to this user alone, from its first byte on."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)  # as the query's own file makes it
        path.unlink(missing_ok=True)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(f"{secret}\n")
    except OSError as error:
        raise BadInput(f"{path}: cannot be written ({error.strerror})") from None


def _show(seen: dict[str, FirstFrames], pictures: Sequence[Path]) -> None:
    import cv2

    for (stream, of), path in zip(seen.items(), pictures, strict=True):
        if of.picture is None:
            continue
        encoded, data = cv2.imencode(".jpg", of.picture)
        if not encoded:
            raise SluiceError(f"stream {stream}: its picture cannot become a JPEG")
        files.write(path, bytes(data))
        labels = ", ".join(f"{label} {count}" for label, count in of.labels.most_common(5)) or "nothing yet"
        say(f"look at {path}: in {of.frames} frames {labels}")
