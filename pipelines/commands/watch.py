"""``sluice watch``: reads the results topic, for people as lines, for programs as JSON."""

from __future__ import annotations

import logging
import math
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import click
import msgspec
from kafka import KafkaConsumer

from operators.schema import Result, from_json
from pipelines.broker import consumer
from pipelines.commands import options
from pipelines.heartbeat import Heartbeat
from pipelines.result_lines import TITLES, result_line
from pipelines.settings import broker_settings
from pipelines.stopping import stop_on_signals
from pipelines.topics import TopicsConfig
from serving.errors import Unavailable

log = logging.getLogger(__name__)

COLOURS = {"analysed": None, "dropped": "yellow", "failed": "red"}


@click.command(name="watch")
@options.broker
@click.option("--json", "as_json", is_flag=True, help="Print each result as it is: one JSON object a line.")
@click.option("--stream", "streams", multiple=True, help="Only this stream; may be repeated.")
@click.option("--from-beginning", is_flag=True, help="Begin with the oldest result that the topic still has.")
@click.option("--limit", type=click.IntRange(min=1), help="End after so many results.")
@click.option("--timeout", "timeout_s", type=click.FloatRange(min=0), metavar="SECONDS", help="End after this time.")
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
    topic = TopicsConfig().with_prefix(prefix).name("results")
    heart = Heartbeat(alive)
    deadline = math.inf if timeout_s is None else time.monotonic() + timeout_s
    with stop_on_signals() as stop:
        client = consumer(
            settings,
            math.inf if timeout_s is None else timeout_s,
            stop,
            auto_offset_reset="earliest" if from_beginning else "latest",
            metadata_max_age_ms=5000,  # a topic that is made later is noticed within this time
            max_partition_fetch_bytes=8 << 20,
        )
        try:
            _wait_for_topic(client, topic, deadline, stop)
            _show(Reader(client, topic, deadline, stop, heart.beat), set(streams), limit, as_json)
        except BrokenPipeError:
            # The reader of our output has left. What Python still holds of it must not be written at the end.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        finally:
            client.close(timeout_ms=1000)


class Reader:
    """Iterates over the topic's results until the deadline or the stop; counts what is none."""

    def __init__(
        self, client: KafkaConsumer, topic: str, deadline: float, stop: threading.Event, beat: Callable[[], None]
    ) -> None:
        self._client = client
        self._beat = beat
        self._deadline = deadline
        self._stop = stop
        self._skipped = 0
        self._topic = topic
        client.subscribe([topic])

    def __iter__(self) -> Iterator[tuple[Result, bytes]]:
        while not self._stop.is_set() and (remaining_s := self._deadline - time.monotonic()) > 0:
            batches = self._client.poll(timeout_ms=int(min(remaining_s, 0.2) * 1000) + 1)
            self._beat()
            for record in (record for records in batches.values() for record in records):
                try:
                    yield from_json(record.value or b"", Result), record.value
                except msgspec.MsgspecError as error:
                    self._skip(f"partition {record.partition} offset {record.offset}: {error}")
            sys.stdout.flush()

    def _skip(self, where: str) -> None:
        self._skipped += 1
        if self._skipped == 1:
            log.warning("topic %s has a message that is no result, skipped: %s", self._topic, where)

    def close(self) -> None:
        """Say how many messages were skipped, where it was more than the one that was told of."""
        if self._skipped > 1:
            log.warning("%d messages of topic %s were no results", self._skipped, self._topic)


def _wait_for_topic(client: KafkaConsumer, topic: str, deadline: float, stop: threading.Event) -> None:
    told = False
    while not client.partitions_for_topic(topic):
        if time.monotonic() > deadline:
            raise Unavailable(f"there is no topic {topic}: `sluice topics create` makes it")
        if not told:
            log.warning("there is no topic %s yet: waiting for it", topic)
            told = True
        if stop.wait(0.5):
            return


def _show(reader: Reader, streams: set[str], limit: int | None, as_json: bool) -> None:
    if not as_json:
        click.echo(click.style(TITLES, bold=True))
    shown = 0
    for result, raw in reader:
        if streams and result.stream not in streams:
            continue
        if as_json:
            sys.stdout.write(raw.decode().replace("\n", " ") + "\n")
        else:
            click.secho(result_line(result), fg=COLOURS[result.outcome])
        shown += 1
        if shown == limit:
            break
    sys.stdout.flush()
    reader.close()
