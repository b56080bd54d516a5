"""Options that several subcommands share."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import click

from pipelines.kafka.topics import TopicsConfig
from pipelines.observe.web.listen import DEFAULT, Listen, listen_on, read_secret
from pipelines.process.clicks import Number
from pipelines.settings import BrokerSettings, broker_settings, serve_secret
from serving.common.clock import SYSTEM
from serving.errors import BadInput

if TYPE_CHECKING:
    from pipelines.observe.record.layout import Manifest, Recording
    from pipelines.query.dag import CompiledQuery

log = logging.getLogger(__name__)

SOURCES_CHARS = 1_000_000
"""Characters of a file of sources."""
RECORD_MB = 1000
"""Megabytes of a recording, unless another number is given."""

broker = click.option(
    "--broker", metavar="URL", help="The Kafka broker, kafka://HOST:PORT[,HOST:PORT…]; also from SLUICE_BROKER."
)

broker_timeout = click.option(
    "--broker-timeout",
    "broker_timeout_s",
    type=Number(min=0),
    default=60.0,
    show_default=True,
    metavar="SECONDS",
    help="How long to try a broker that does not answer.",
)

prefix = click.option(
    "--prefix", metavar="PREFIX", help="Begins the topics' names.  [default: the query's, or sluice.]"
)


@dataclass(frozen=True)
class Installation:
    """A broker, for how long it is tried, and the beginning of the topics' names, where one is given."""

    url: str | None
    timeout_s: float
    prefix: str | None

    @cached_property
    def broker(self) -> BrokerSettings:
        """Looked at where it is needed; raises ``BadInput`` where none is given, or it is misspelt."""
        return broker_settings(self.url)

    def topics(self, of: TopicsConfig | None = None) -> TopicsConfig:
        """Those of a query, or of no particular one; raises ``BadInput``."""
        return (of or TopicsConfig()).with_prefix(self.prefix)


def installation(command: Callable[..., Any]) -> Callable[..., Any]:
    """``--broker``, ``--broker-timeout`` and ``--prefix``; the command gets them as ``at``."""

    @broker
    @broker_timeout
    @prefix
    @wraps(command)
    def with_all(*given: Any, broker: str | None, broker_timeout_s: float, prefix: str | None, **options: Any) -> Any:
        return command(*given, at=Installation(broker, broker_timeout_s, prefix), **options)

    return with_all


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
    type=Number(min=0, min_open=True),
    metavar="SECONDS",
    help="End a stream whose camera gave no frame for this long.  [default: try for ever]",
)

loop = click.option("--loop", is_flag=True, help="Start files over when they end.")

source = click.option(
    "--source", "sources", multiple=True, metavar="URI", help="In place of the query's streams; repeatable."
)

source_file = click.option(
    "--source-file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Further sources, one a line; so passwords do not show in the list of processes.",
)


def sources(command: Callable[..., Any]) -> Callable[..., Any]:
    """``--source`` and ``--source-file``; the command gets both as ``sources``."""

    @wraps(command)
    def with_all(*given: Any, sources: tuple[str, ...], source_file: Path | None, **options: Any) -> Any:
        if any(_password(uri) for uri in sources):
            log.warning("the password in --source shows in the list of processes: give --source-file FILE instead")
        return command(*given, sources=(*sources, *_lines(source_file)), **options)

    return source(source_file(with_all))


def _password(uri: str) -> str | None:
    try:
        return urlsplit(uri).password
    except ValueError:
        return None


def _lines(file: Path | None) -> list[str]:
    if file is None:
        return []
    try:
        with file.open(encoding="utf-8") as opened:
            text = opened.read(SOURCES_CHARS + 1)
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is no text in UTF-8"
        raise BadInput(f"--source-file {file}: {why}") from None
    if len(text) > SOURCES_CHARS:
        raise BadInput(f"--source-file {file}: it is longer than {SOURCES_CHARS} characters")
    lines = map(str.strip, text.splitlines())
    found = [line for line in lines if line and not line.startswith("#")]
    if not found:
        raise BadInput(f"--source-file {file}: it names no source: write one address on each line")
    return found


FIRST_LINE = "Readers must give its first line, as password or bearer token; also from SLUICE_SERVE_SECRET."


def served(what: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """``--serve``, ``--listen`` and ``--secret-file``; the command gets ``listening``, None where nobody asks for it.

    ``what``: what there is to read.
    """

    def with_options(command: Callable[..., Any]) -> Callable[..., Any]:
        @click.option("--serve", is_flag=True, help=f"Serve {what} over HTTP while it runs.")
        @click.option("--listen", metavar="HOST:PORT", help=f"Where; turns --serve on.  [default: {DEFAULT}]")
        @click.option("--secret-file", type=click.Path(path_type=Path), metavar="FILE", help=FIRST_LINE)
        @wraps(command)
        def with_all(*given: Any, serve: bool, listen: str | None, secret_file: Path | None, **options: Any) -> Any:
            wanted = serve or listen is not None or secret_file is not None
            return command(*given, listening=listen_at(listen or DEFAULT, secret_file) if wanted else None, **options)

        return with_all

    return with_options


def listen_at(listen: str, secret_file: Path | None) -> Listen:
    return listen_on(listen, serve_secret() if secret_file is None else read_secret(secret_file))


def recorded(command: Callable[..., Any]) -> Callable[..., Any]:
    """``--record`` and ``--record-mb``; the command gets ``record``, which makes the recording, None for none.

    It takes the manifest of the query; None where there are several.
    """

    @click.option(
        "--record",
        type=click.Path(path_type=Path),
        metavar="DIR",
        help="Keep frames and results around events, and what audits found to be wrong.",
    )
    @click.option(
        "--record-mb",
        type=click.IntRange(min=1, max=10_000_000),
        metavar="MB",
        help=f"What DIR may hold: the oldest goes first.  [default: {RECORD_MB}]",
    )
    @wraps(command)
    def with_all(*given: Any, record: Path | None, record_mb: int | None, **options: Any) -> Any:
        if record is None and record_mb is not None:
            raise BadInput("--record-mb belongs to --record DIR: give that too, or leave it out")
        wanted = None if record is None else partial(_recording, record, (record_mb or RECORD_MB) * 1_000_000)
        return command(*given, record=wanted, **options)

    return with_all


MakeRecording = Callable[["Manifest | None"], "Recording"]


def _recording(directory: Path, most_bytes: int, of: Manifest | None) -> Recording:
    from pipelines.observe.record.layout import Recording

    return Recording(directory, of, most_bytes)


def manifest(file: Path, wanted: CompiledQuery) -> Manifest:
    """Describe a query and what runs it; ``file``: where it stands. Raises ``BadInput``."""
    from pipelines.observe.record.layout import manifest_of

    return manifest_of(wanted.dag.query, file, wanted.versions, SYSTEM.now())
