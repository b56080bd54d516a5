"""``sluice watch``: reads the results topic, for people as lines, for programs as JSON."""

from __future__ import annotations

import math
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import click

from operators.wire.schema import Result, from_json
from pipelines.commands import options
from pipelines.health.heartbeat import Heartbeat
from pipelines.kafka.results import MessageReader
from pipelines.process.clicks import Number
from pipelines.process.signals import stop_on_signals
from pipelines.process.terminal import say
from pipelines.report.watch_view import TITLES, ColouredLine, WatchView
from pipelines.settings import broker_settings
from serving.common.untrusted import json_line

HOW = "Results appear as they come; --from-beginning shows those that the topic has. Ctrl-C ends."


@click.command(name="watch")
@options.broker
@click.option("--json", "as_json", is_flag=True, help="Print each result as it is: one JSON object a line.")
@click.option("--stream", "streams", multiple=True, help="Only this stream; may be repeated.")
@click.option("--from-beginning", is_flag=True, help="Begin with the oldest result that the topic still has.")
@click.option("--limit", type=click.IntRange(min=1), help="End after this many results.")
@click.option("--timeout", "timeout_s", type=Number(min=0), metavar="SECONDS", help="End after this time.")
@options.alive
@options.prefix
def command(
    broker: str | None,
    as_json: bool,
    streams: tuple[str, ...],
    from_beginning: bool,
    limit: int | None,
    timeout_s: float | None,
    alive: Path | None,
    prefix: str | None,
) -> None:
    """Show results as they arrive.

    Ends with status 0 at the limit, the timeout or an interrupt; with 1 where there was no broker or no topic.
    """
    settings = broker_settings(broker)
    patience_s = math.inf if timeout_s is None else timeout_s
    heart = Heartbeat(alive)
    with (
        stop_on_signals() as stop,
        closing(
            MessageReader(
                settings,
                "results",
                partial(from_json, kind=Result),
                prefix=prefix,
                from_beginning=from_beginning,
                within_s=patience_s,
                stop=stop,
            )
        ) as reader,
    ):
        try:
            _show(reader, heart.beat, set(streams), limit, as_json)
        except BrokenPipeError:
            # The reader of our output has left. What Python still holds of it must not be written at the end.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _show(
    reader: MessageReader[Result], beat: Callable[[], None], streams: set[str], limit: int | None, as_json: bool
) -> None:
    shown = 0
    with _printer(reader, beat, as_json) as show:
        for result, raw in reader:
            if streams and result.stream not in streams:
                continue
            show(result, raw)
            shown += 1
            if shown == limit:
                break
    sys.stdout.flush()


@contextmanager
def _printer(
    reader: MessageReader[Result], beat: Callable[[], None], as_json: bool
) -> Iterator[Callable[[Result, bytes], None]]:
    """Prints results, for programs or for people; what is held back comes at the end."""

    def polled() -> None:
        beat()
        if view is not None:
            _print(view.flush(time.monotonic()))
            summary = view.summary(time.monotonic(), datetime.now(UTC), reader.waiting())
            _print([summary] if summary else [])
        sys.stdout.flush()

    view = None if as_json else WatchView(time.monotonic())
    reader.after_poll = polled
    if view is None:
        yield lambda _, raw: _write(json_line(raw))
        return
    say(HOW, err=True)
    say(TITLES, bold=True)
    yield lambda result, _: _print(view.add(result, time.monotonic()))
    _print(view.flush(time.monotonic(), all_=True))


def _write(line: str) -> None:
    sys.stdout.write(line + "\n")


def _print(lines: Iterable[ColouredLine]) -> None:
    for line in lines:
        say(line.text, fg=line.colour)
