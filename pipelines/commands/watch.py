"""``sluice watch``: reads the results topic, for people as lines, for programs as JSON."""

from __future__ import annotations

import logging
import math
import os
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path

import click
from kafka import KafkaConsumer

from operators.transports.polls import mend_polls
from operators.transports.record_sets import unreadable
from operators.wire.mishaps import Mishaps
from operators.wire.schema import Result, from_json
from pipelines.commands import options
from pipelines.health.heartbeat import Heartbeat
from pipelines.kafka.rights import needs
from pipelines.kafka.sync_clients import admin, consumer, demand
from pipelines.kafka.topics import TopicsConfig
from pipelines.process.signals import stop_on_signals
from pipelines.process.terminal import say
from pipelines.report.result_lines import TITLES
from pipelines.report.watch_view import ColouredLine, WatchView
from pipelines.settings import BrokerSettings, broker_settings
from serving.common.printable import json_line
from serving.errors import Malformed, Unavailable

log = logging.getLogger(__name__)

HOW = "Results appear as they come; --from-beginning shows those that the topic has. Ctrl-C ends."


@click.command(name="watch")
@options.broker
@click.option("--json", "as_json", is_flag=True, help="Print each result as it is: one JSON object a line.")
@click.option("--stream", "streams", multiple=True, help="Only this stream; may be repeated.")
@click.option("--from-beginning", is_flag=True, help="Begin with the oldest result that the topic still has.")
@click.option("--limit", type=click.IntRange(min=1), help="End after this many results.")
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
    patience_s = math.inf if timeout_s is None else timeout_s
    with stop_on_signals() as stop:
        _check_rights(settings, topic, patience_s, stop)
        client = consumer(
            settings,
            patience_s,
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


def _check_rights(settings: BrokerSettings, topic: str, patience_s: float, stop: threading.Event) -> None:
    with closing(admin(settings, patience_s, stop)) as client:
        demand(client, settings, needs(read=[topic]))


class Reader:
    """Iterates over the topic's results until the deadline or the stop; counts what is none."""

    def __init__(
        self, client: KafkaConsumer, topic: str, deadline: float, stop: threading.Event, beat: Callable[[], None]
    ) -> None:
        self._client = client
        self._beat = beat
        self._deadline = deadline
        self._stop = stop
        self._mishaps = Mishaps(log)
        self._topic = topic
        self.after_poll: Callable[[], None] = lambda: None
        mend_polls(client)
        client.subscribe([topic])

    def __iter__(self) -> Iterator[tuple[Result, bytes]]:
        while not self._stop.is_set() and (remaining_s := self._deadline - time.monotonic()) > 0:
            batches = self._client.poll(timeout_ms=int(min(remaining_s, 0.2) * 1000) + 1)
            self._beat()
            for record in (record for records in batches.values() for record in records):
                if unreadable(record.headers) is not None:
                    continue  # it was logged
                try:
                    yield from_json(record.value or b"", Result), record.value
                except Malformed as error:
                    self._mishaps.note(
                        f"topic {self._topic} has a message that is no result, skipped",
                        f"partition {record.partition} offset {record.offset}: {error}",
                    )
            self.after_poll()
            sys.stdout.flush()

    def waiting(self) -> int:
        """Results that the topic has and that were not read yet, as far as is known."""
        ends = {place: self._client.highwater(place) for place in self._client.assignment()}
        return sum(max(0, end - self._client.position(place)) for place, end in ends.items() if end is not None)

    def close(self) -> None:
        """Log how many messages were skipped, if there were more than the one that was logged."""
        if (skipped := self._mishaps.counts.total()) > 1:
            log.warning("%d messages of topic %s were no results", skipped, self._topic)


def _wait_for_topic(client: KafkaConsumer, topic: str, deadline: float, stop: threading.Event) -> None:
    logged = False
    while not client.partitions_for_topic(topic):
        if time.monotonic() > deadline:
            raise Unavailable(f"there is no topic {topic}: `sluice topics create` makes it")
        if not logged:
            log.warning("there is no topic %s yet: waiting for it", topic)
            logged = True
        if stop.wait(0.5):
            return


def _show(reader: Reader, streams: set[str], limit: int | None, as_json: bool) -> None:
    shown = 0
    with _printer(reader, as_json) as show:
        for result, raw in reader:
            if streams and result.stream not in streams:
                continue
            show(result, raw)
            shown += 1
            if shown == limit:
                break
    sys.stdout.flush()
    reader.close()


@contextmanager
def _printer(reader: Reader, as_json: bool) -> Iterator[Callable[[Result, bytes], None]]:
    """Prints results, for programs or for people; what is held back comes at the end."""
    if as_json:
        yield lambda _, raw: _write(json_line(raw))
        return
    say(HOW, err=True)
    say(TITLES, bold=True)
    view = WatchView(time.monotonic())

    def settle() -> None:
        _print(view.settle(time.monotonic()))
        summary = view.summary(time.monotonic(), datetime.now(UTC), reader.waiting())
        _print([summary] if summary else [])

    reader.after_poll = settle
    yield lambda result, _: _print(view.add(result, time.monotonic()))
    _print(view.settle(time.monotonic(), all_=True))


def _write(line: str) -> None:
    sys.stdout.write(line + "\n")


def _print(lines: Iterable[ColouredLine]) -> None:
    for line in lines:
        say(line.text, fg=line.colour)
