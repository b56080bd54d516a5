"""The input of ``sluice run``: a query, or a clip or camera, for which there is a query of our own."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from operators.capture.sources.uri import SourceUri
from operators.extensions import NONE, Kinds
from pipelines.query.check import open_query
from pipelines.query.dag import CompiledQuery
from pipelines.query.proposal import (
    Finder,
    ModelWords,
    SecretFiles,
    better,
    everyday,
    query_name,
    query_text,
    words_of,
)
from pipelines.query.yaml_file import MAX_BYTES, parse_yaml
from serving.catalogue.lookup import Catalogue
from serving.errors import BadInput, SourceError

QUERIES = (".yaml", ".yml")
NEITHER = "is neither a query (docs/query.md) nor a clip"


@dataclass(frozen=True)
class Given:
    """A query that can run."""

    file: Path
    """Where it stands."""
    wanted: CompiledQuery
    notice: str = ""
    """One line about the default query, where nobody gave one."""


@contextmanager
def given(what: str, known: Catalogue, sources: Sequence[str], hwaccel: str, own: Kinds = NONE) -> Iterator[Given]:
    """The query of this name; or the default one on the clip or camera of this name, in a file while the block runs.

    ``own``: classes of operators by their tasks. Raises QueryError, SourceError, or BadInput for what is neither.
    """
    if _is_query(what):
        yield Given(Path(what), open_query(Path(what), known, sources, own))
        return
    if sources:
        raise BadInput(f"{what} is no query: give it alone, or a query with --source")
    uri = _source(what)
    words, name = words_of(known), query_name(uri.stream_id)
    found = everyday(words)
    with TemporaryDirectory(prefix="sluice-run-") as folder:
        file = Path(folder) / "query.yaml"
        text = query_text(name, [uri], found, SecretFiles(name))
        file.write_text(text, encoding="utf-8", errors="replace")  # the clip itself is given beside it
        wanted = open_query(file, known, [uri.reveal()])
        _check(what, uri, wanted, hwaccel)
        notice = f"default query: {_words(found)}{_more(words)}; to write it to a file: {_command(what, uri, found)}"
        yield Given(file, wanted, notice)


def _is_query(what: str) -> bool:
    """Whether it is a file that was meant as a query: by its name, or by what stands in it.

    Raises BadInput for another text: decoders would make pictures of its letters.
    """
    path = Path(what)
    if path.suffix.lower() in QUERIES:
        return True
    try:
        if not path.is_file() or not 0 < path.stat().st_size <= MAX_BYTES:
            return False
        text = path.read_text(encoding="utf-8")
    except (OSError, ValueError):
        return False
    data = parse_yaml(path, text).data
    if isinstance(data, dict) and "nodes" in data:
        return True
    if "\0" not in text:
        raise BadInput(f"{what} {NEITHER}: it is a text without nodes")
    return False


def _source(what: str) -> SourceUri:
    try:
        uri = SourceUri(what)
    except SourceError as error:
        raise BadInput(f"neither a query nor a clip or camera: {error}") from None
    return SourceUri(str(uri.path.resolve())) if uri.kind == "path" else uri


def _check(what: str, uri: SourceUri, wanted: CompiledQuery, hwaccel: str) -> None:
    """Say in one line that a file is neither a query nor a clip."""
    if uri.live:
        return
    from pipelines.run.capture_specs import source_faults  # decoders

    for fault in source_faults(wanted.query, hwaccel).values():
        raise BadInput(f"{what} {NEITHER}: {fault.removeprefix(f'{uri}: ')}")


def _words(found: Finder) -> str:
    return f"{', '.join(found.labels) or 'whatever moves'}, found by {found.detector}"


def _more(words: ModelWords) -> str:
    """The way to people and vehicles, where only motion is looked for."""
    detector = better(words)
    return "" if detector is None else f" (for people and vehicles: sluice models pull {detector})"


def _command(what: str, uri: SourceUri, found: Finder) -> str:
    wanted = "".join(f" --find {label}" for label in found.labels)
    shown = what if uri.kind == "path" else str(uri)
    return f"sluice init query.yaml --source {shlex.quote(shown)}{wanted} --yes"
