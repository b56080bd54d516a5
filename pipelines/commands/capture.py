"""``sluice capture``: sources into the frames topic."""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping
from pathlib import Path

import click

from operators.publish.kafka_frames import KafkaFrames
from operators.schema import StreamStatus
from pipelines import topic_admin
from pipelines.broker import admin, frames_producer
from pipelines.capturing import Capturing
from pipelines.commands import options
from pipelines.heartbeat import Heartbeat
from pipelines.query import load_query
from pipelines.settings import BrokerSettings, broker_settings
from pipelines.sources import capture_specs
from pipelines.stopping import stop_on_signals
from pipelines.topics import TopicsConfig, too_small_messages
from serving.errors import SourceError, Unavailable

log = logging.getLogger(__name__)


@click.command(name="capture")
@click.argument("query", type=click.Path(path_type=Path))
@options.broker
@options.broker_timeout
@options.sources
@options.limit
@click.option("--loop", is_flag=True, help="Start files over when they end.")
@click.option("--realtime", is_flag=True, help="Play files at their own pace, like a camera.")
@click.option(
    "--buffer-mb", type=click.IntRange(min=1), default=64, show_default=True, help="Frames kept for a broker."
)
@options.alive
@options.prefix
def command(
    query: Path,
    broker: str | None,
    broker_timeout_s: float,
    sources: tuple[str, ...],
    limit: int | None,
    loop: bool,
    realtime: bool,
    buffer_mb: int,
    alive: Path | None,
    prefix: str | None,
) -> None:
    """Decode and sample the streams of QUERY into the frames topic, which is made where it is missing.

    A broker that goes away is waited for: frames are kept, then go without image, and none is left out.
    """
    settings = broker_settings(broker)
    wanted = load_query(query).with_sources(sources)
    topics = wanted.publish.topics.with_prefix(prefix)
    heart = Heartbeat(alive)
    specs = capture_specs(wanted, limit=limit, loop=loop, realtime=realtime)
    droppable = [realtime or stream.overload_policy != "block" for stream in wanted.streams]
    with stop_on_signals() as stop:
        _ensure_topics(settings, topics, broker_timeout_s, stop)
        producer = frames_producer(settings, broker_timeout_s, stop)
        sink = KafkaFrames(producer, topics.name("frames"), topics.name("streams"), buffer_mb * 1_000_000)
        capturing = Capturing(specs, droppable, sink, _tell)
        try:
            capturing.run(stop, heart.beat, broker_timeout_s)
        finally:
            lost = sink.close()
    if sink.images_dropped:
        log.warning("%d frames went without image (capture_buffer_full)", sink.images_dropped)
    if lost:
        raise Unavailable(f"{lost} frames could not be delivered to {settings.url}")
    _raise(capturing.errors)


def _ensure_topics(settings: BrokerSettings, topics: TopicsConfig, timeout_s: float, stop: threading.Event) -> None:
    client = admin(settings, timeout_s, stop)
    try:
        for topic in topic_admin.ensure(client, topics.by_name(), topics.replication):
            if complaint := too_small_messages(topic.name, topic.differences):
                log.warning("%s", complaint)
    finally:
        client.close()


def _tell(status: StreamStatus) -> None:
    """A line for each change of a stream's state."""
    reason = f" ({status.reason})" if status.reason else ""
    message = f": {status.message}" if status.message else ""
    click.echo(f"stream {status.stream}: {status.state}{reason}, {status.frames} frames{message}", err=True)


def _raise(errors: Mapping[str, Exception]) -> None:
    """The streams' states have told of all errors; the first decides how the command ends."""
    for stream, error in errors.items():
        if isinstance(error, SourceError):
            raise SourceError(f"stream {stream}: {error}", error.reason)
        raise error
