"""``sluice forward`` at work: a reader, a way and a sink for each entry of the file."""

from __future__ import annotations

import asyncio
import logging
import time
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from aiokafka import ConsumerRecord
from aiokafka.errors import KafkaError
from msgspec.structs import replace

from operators.observer import UNOBSERVED, Observers
from operators.wire.schema import Event, Notification
from pipelines.health.heartbeat import INTERVAL_S, Heartbeat
from pipelines.kafka.async_clients import quiet, wait_for_broker
from pipelines.kafka.rights import needs
from pipelines.kafka.topic_reader import records
from pipelines.kafka.topics import TopicsConfig
from pipelines.observe.forward.delivery import Delivery
from pipelines.observe.forward.filters import wants
from pipelines.observe.forward.frame_finder import FrameFinder
from pipelines.observe.forward.notices import event_notice, state_notice
from pipelines.observe.forward.reader import Reader
from pipelines.observe.forward.sink import Picture, Sinks
from pipelines.observe.forward.sinks_file import SinkSpec
from pipelines.observe.forward.snapshots import snapshot
from pipelines.process.tasks import meanwhile
from pipelines.settings import BrokerSettings
from serving.common.redaction import redact
from serving.errors import Malformed, Unavailable

log = logging.getLogger(__name__)

PATIENCE_S = 60.0
"""A sink, or the broker, that is away for longer makes the process unhealthy."""


@dataclass(frozen=True)
class ForwardConfig:
    """Where events come from, and who watches."""

    settings: BrokerSettings
    topics: TopicsConfig
    give_up_s: float = 60.0
    """How long to wait for a broker that is not there."""
    alive: Path | None = None
    """Says whether all is well: see ``pipelines.health.heartbeat``."""
    observers: Observers = field(default=UNOBSERVED)


class Forwarder:
    """Works for all sinks of a file."""

    def __init__(self, config: ForwardConfig, sinks: Sinks) -> None:
        self._config, self._sinks = config, sinks
        self._events, self._states, frames = (config.topics.name(kind) for kind in ("events", "streams", "frames"))
        self._finder = FrameFinder(config.settings, frames)
        self._ways = [Delivery(spec, sink, config.observers) for spec, sink in sinks]
        self._readers = [
            Reader(config.settings, [self._events, self._states], self._group(spec), partial(self._take, spec, way))
            for (spec, _), way in zip(sinks, self._ways, strict=True)
        ]

    async def run(self, stop: asyncio.Event) -> None:
        """Forward until ``stop``; raises Unavailable or BadInput where the broker or a topic is not there at first."""
        config = self._config
        quiet()
        heart = Heartbeat(config.alive)
        heart.ail(waits := f"waiting for {config.settings.url} and its topics")
        config.observers.worker_waits(waits)
        async with AsyncExitStack() as stack:
            stack.push_async_callback(self._finder.close)
            working = asyncio.create_task(self._work(heart))
            stopping = asyncio.create_task(stop.wait())
            try:
                await asyncio.wait([working, stopping], return_when=asyncio.FIRST_COMPLETED)
                if working.done():
                    working.result()
            finally:
                for task in (working, stopping):
                    task.cancel()
                await asyncio.wait([working, stopping])

    async def _work(self, heart: Heartbeat) -> None:
        config = self._config
        pictures = [config.topics.name("frames")] if any(spec.snapshot for spec, _ in self._sinks) else []
        wanted = needs(read=[self._events, self._states, *pictures], group=self._group(self._sinks[0][0]))
        await wait_for_broker(config.settings, wanted, config.give_up_s)
        await self._restore()
        async with AsyncExitStack() as stack:
            for _, sink in self._sinks:
                await stack.enter_async_context(meanwhile(sink.run()))
            for reader in self._readers:
                await stack.enter_async_context(meanwhile(reader.run()))
            for reader in self._readers:
                await reader.begun.wait()
            names = ", ".join(spec.name for spec, _ in self._sinks)
            log.info("forwarding %s and %s at %s to %s", self._events, self._states, config.settings.url, names)
            while True:
                self._beat(heart)
                await asyncio.sleep(INTERVAL_S)

    async def _restore(self) -> None:
        """Tell sinks that keep states what they are now: their own memory may be gone."""
        keepers = [(spec, sink) for spec, sink in self._sinks if sink.keeps_states]
        if not keepers:
            return
        try:
            async for record in records(self._config.settings, self._states, "the states of streams"):
                notice = self._read(record)
                for spec, sink in keepers:
                    if notice is not None and wants(spec, notice):
                        sink.restore(notice)
        except (KafkaError, OSError) as error:
            raise Unavailable(f"topic {self._states} cannot be read: {error}") from None

    async def _take(self, spec: SinkSpec, way: Delivery, record: ConsumerRecord) -> None:
        if record.value is None:
            return  # a stream that was deleted from a compacted topic
        try:
            await self._tell(spec, way, record)
        except Malformed as error:
            way.ended("malformed", _place(record), str(error))
        except Exception as error:  # what nobody foresaw costs this message alone
            way.ended("failed", _place(record), redact(f"{type(error).__name__}: {error}"))

    async def _tell(self, spec: SinkSpec, way: Delivery, record: ConsumerRecord) -> None:
        notice = self._notice(record)
        if not wants(spec, notice):
            return
        picture: Picture | None = None
        if notice.event is not None and spec.snapshot is not None:
            notice, picture = await self._with_picture(notice, notice.event, spec.snapshot.max_width)
        await way.deliver(notice, picture, time.time() - record.timestamp / 1000)

    async def _with_picture(
        self, notice: Notification, event: Event, max_width: int
    ) -> tuple[Notification, Picture | None]:
        found = await snapshot(self._finder, event, max_width)
        return (notice, found) if isinstance(found, Picture) else (replace(notice, snapshot_missing=found), None)

    def _read(self, record: ConsumerRecord) -> Notification | None:
        try:
            return self._notice(record) if record.value is not None else None
        except Malformed:
            return None  # the reader of each sink will log it

    def _notice(self, record: ConsumerRecord) -> Notification:
        return (event_notice if record.topic == self._events else state_notice)(record.value)

    def _beat(self, heart: Heartbeat) -> None:
        silent_s = max(reader.silent_s for reader in self._readers)
        away = f"the broker has not answered for {silent_s:.0f} s" if silent_s >= PATIENCE_S else None
        problem = away or next(filter(None, (way.trouble(PATIENCE_S) for way in self._ways)), None)
        if problem is None:
            heart.beat()
        else:
            heart.ail(problem)
        self._config.observers.worker_checked({}, 0.0, problem)
        for reader, way in zip(self._readers, self._ways, strict=True):
            if reader.waiting is not None:
                way.waits(reader.waiting)

    def _group(self, spec: SinkSpec) -> str:
        return f"{self._config.topics.prefix}forward.{spec.name}"


def _place(record: ConsumerRecord) -> str:
    return f"topic {record.topic} partition {record.partition} offset {record.offset}"
