"""``sluice capture``: sources into the frames topic."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Collection, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pipelines.commands import options
from pipelines.health.liveness import STALLED_AFTER_S
from pipelines.kafka.rights import needs
from pipelines.kafka.topics import TopicsConfig, too_small_messages
from pipelines.observe.web.listen import Listen
from pipelines.process.signals import stop_thread_on_signals
from pipelines.query.draft import load_query
from pipelines.run.capture_specs import capture_specs
from pipelines.settings import BrokerSettings, hwaccel
from serving.errors import Unavailable

if TYPE_CHECKING:
    from operators.capture.spec import CaptureSpec
    from operators.observer import Observer, Observers
    from operators.publish.kafka_frames import KafkaFrames

log = logging.getLogger(__name__)


@click.command(name="capture")
@click.argument("query", type=click.Path(path_type=Path))
@options.installation
@options.sources
@options.limit
@options.give_up
@options.loop
@click.option("--realtime", is_flag=True, help="Play files at their own pace, like a camera.")
@click.option(
    "--buffer-mb", type=click.IntRange(min=1), default=64, show_default=True, help="Frames kept for a broker."
)
@options.alive
@options.served("metrics and health")
def command(
    query: Path,
    at: options.Installation,
    sources: tuple[str, ...],
    limit: int | None,
    give_up_s: float | None,
    loop: bool,
    realtime: bool,
    buffer_mb: int,
    alive: Path | None,
    listening: Listen | None,
) -> None:
    """Decode and sample the streams of QUERY into the frames topic, which is made where it is missing.

    A broker that goes away is waited for: frames are kept, then go without image, and none is left out.
    """
    decoder = hwaccel()
    wanted = load_query(query).with_sources(sources)
    topics = at.topics(wanted.publish.topics)
    specs = capture_specs(wanted, limit=limit, loop=loop, realtime=realtime, give_up_s=give_up_s, hwaccel=decoder)
    droppable = {stream.id for stream in wanted.streams if realtime or stream.overload_policy != "block"}
    asyncio.run(
        _capture(partial(_deliver, at.broker, topics, at.timeout_s, specs, droppable, buffer_mb), listening, alive)
    )


async def _capture(
    work: Callable[[threading.Event, Observers], None], listen: Listen | None, alive: Path | None
) -> None:
    """The broker's client waits in a thread of its own, so that this one can answer over HTTP."""
    from pipelines.observe.watchers import watched  # what hears, which a wrong query need not wait for

    async with stop_thread_on_signals() as stop, watched(listen, alive) as watching:
        await asyncio.to_thread(work, stop, watching)


def _deliver(
    settings: BrokerSettings,
    topics: TopicsConfig,
    timeout_s: float,
    specs: Sequence[CaptureSpec],
    droppable: Collection[str],
    buffer_mb: int,
    stop: threading.Event,
    watching: Observers,
) -> None:
    # Decoders and the broker's client, which a wrong query need not wait for.
    from operators.observer import Observers
    from operators.publish.kafka_frames import KafkaFrames
    from operators.publish.sending import CaptureTopics
    from pipelines.kafka.sync_clients import frames_producer
    from pipelines.run.captures import StateLog, captured, deliver, raise_first

    _ensure_topics(settings, topics, timeout_s, stop)
    producer = frames_producer(settings, timeout_s, stop)
    names = CaptureTopics(topics.name("frames"), topics.name("streams"))
    sink = KafkaFrames(producer, names, buffer_mb * 1_000_000)
    observers = Observers([StateLog(), watching])
    captures = captured(specs, sink, droppable, observers)
    try:
        errors = deliver(captures, sink, stop, partial(_feel, sink, observers), timeout_s)
    finally:
        lost = sink.close()
    if sink.images_dropped:
        log.warning("%d frames went without image (capture_buffer_full)", sink.images_dropped)
    if lost:
        raise Unavailable(f"{lost} frames could not be delivered to {settings.url}")
    raise_first(errors)


def _feel(sink: KafkaFrames, observer: Observer) -> None:
    """All is well only while the broker takes frames: a process whose frames wait for ever is not healthy."""
    stuck_s = sink.stuck_s
    stuck = f"frames wait and the broker has taken none for {stuck_s:.0f} s"
    problem = None if stuck_s < STALLED_AFTER_S else stuck
    observer.worker_checked({}, stuck_s, problem)


def _ensure_topics(settings: BrokerSettings, topics: TopicsConfig, timeout_s: float, stop: threading.Event) -> None:
    from pipelines.kafka import topic_admin
    from pipelines.kafka.sync_clients import admin, demand

    with closing(admin(settings, timeout_s, stop)) as client:
        demand(client, settings, needs(write=[topics.name("frames"), topics.name("streams")]))
        # Others' topics may be none of this user's business.
        others = topic_admin.hidden(client, topics.by_name())
        wanted = {name: how for name, how in topics.by_name().items() if name not in others}
        for topic in topic_admin.ensure(client, wanted, topics.replication):
            if complaint := too_small_messages(topic.name, topic.differences):
                log.warning("%s", complaint)
