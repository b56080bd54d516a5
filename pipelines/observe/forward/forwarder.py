"""``sluice forward`` at work: messages of topics go to sinks, to each by a reader of its own."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field
from functools import partial

from aiokafka import ConsumerRecord
from aiokafka.errors import KafkaError

from operators.observer import UNOBSERVED, Observers
from operators.wire.schema import Notification, StreamStatus, from_json
from pipelines.health.heartbeat import INTERVAL_S
from pipelines.kafka.async_clients import place_of, quiet, wait_for_broker
from pipelines.kafka.rights import needs
from pipelines.kafka.topic_reader import records
from pipelines.kafka.topics import TopicsConfig
from pipelines.observe.forward.delivery import PATIENCE_S, Delivery, deliveries
from pipelines.observe.forward.frame_finder import FrameFinder
from pipelines.observe.forward.reader import Reader
from pipelines.observe.forward.sink import Sinks, notice_of, read_event
from pipelines.observe.forward.sinks_file import SinkSpec
from pipelines.process.tasks import meanwhile, unless
from pipelines.settings import BrokerSettings
from serving.errors import Malformed, Unavailable

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class ForwardConfig:
    """Where events come from, and who watches."""

    settings: BrokerSettings
    topics: TopicsConfig
    give_up_s: float = 60.0
    """How long to wait for a broker that is not there."""
    observers: Observers = field(default=UNOBSERVED)


class Forwarder:
    def __init__(self, config: ForwardConfig, sinks: Sinks) -> None:
        self._config, self._sinks = config, sinks
        self._events, self._states, frames = (config.topics.name(kind) for kind in ("events", "streams", "frames"))
        self._finder = FrameFinder(config.settings, frames)

    async def run(self, stop: asyncio.Event) -> None:
        """Forward until ``stop``; raises Unavailable or BadInput where the broker or a topic is not there at first."""
        config = self._config
        quiet()
        config.observers.worker_waits(f"waiting for {config.settings.url} and its topics")
        try:
            await unless(stop, self._work())
        finally:
            await self._finder.close()

    async def _work(self) -> None:
        config = self._config
        pictures = [config.topics.name("frames")] if any(spec.snapshot for spec, _ in self._sinks) else []
        wanted = needs(read=[self._events, self._states, *pictures], group=self._group(self._sinks[0][0]))
        await wait_for_broker(config.settings, wanted, config.give_up_s)
        await self._restore()
        topics = [self._events, self._states]
        async with deliveries(self._sinks, config.observers) as ways, AsyncExitStack() as stack:
            readers = [Reader(config.settings, topics, self._group(way.spec), partial(self._take, way)) for way in ways]
            pairs = [*zip(ways, readers, strict=True)]
            for reader in readers:
                await stack.enter_async_context(meanwhile(reader.run()))
            for reader in readers:
                await reader.begun.wait()
            names = ", ".join(way.spec.name for way in ways)
            log.info("forwarding %s and %s at %s to %s", *topics, config.settings.url, names)
            while True:
                self._beat(pairs)
                await asyncio.sleep(INTERVAL_S)

    async def _restore(self) -> None:
        """Tell sinks that keep states what they are now: their own memory may be gone."""
        keepers = [(spec, sink) for spec, sink in self._sinks if sink.keeps_states]
        if not keepers:
            return
        try:
            async for record in records(self._config.settings, self._states, "the states of streams"):
                with suppress(Malformed):  # the reader of each sink will log it
                    notice = self._notice(record)
                    for spec, sink in keepers:
                        if notice is not None and spec.wants(notice):
                            sink.restore(notice)
        except (KafkaError, OSError) as error:
            raise Unavailable(f"topic {self._states} cannot be read: {error}") from None

    async def _take(self, way: Delivery, record: ConsumerRecord) -> None:
        try:
            notice = self._notice(record)
        except Malformed as error:
            way.ended("malformed", place_of(record), str(error))
            return
        if notice is not None and way.spec.wants(notice):
            sent_s = record.timestamp / 1000
            await way.deliver(notice, time.time() - sent_s, partial(self._finder.find, sent_s=sent_s))

    def _notice(self, record: ConsumerRecord) -> Notification | None:
        """None of a stream that was deleted from a compacted topic; raises ``Malformed``."""
        if record.value is None:
            return None
        if record.topic == self._events:
            return notice_of(read_event(record.value))
        return notice_of(from_json(record.value, StreamStatus))

    def _beat(self, pairs: Sequence[tuple[Delivery, Reader]]) -> None:
        silent_s = max(reader.silent_s for _, reader in pairs)
        away = f"the broker has not answered for {silent_s:.0f} s" if silent_s >= PATIENCE_S else None
        problem = away or next(filter(None, (way.trouble(PATIENCE_S) for way, _ in pairs)), None)
        self._config.observers.worker_checked({}, 0.0, problem)
        for way, reader in pairs:
            if reader.waiting is not None:
                way.waits(reader.waiting)

    def _group(self, spec: SinkSpec) -> str:
        return f"{self._config.topics.prefix}forward.{spec.name}"
