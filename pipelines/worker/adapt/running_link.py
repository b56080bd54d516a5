"""Connects a worker's link to the broker, beside its frames: whatever happens here does not delay them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from aiokafka import AIOKafkaProducer, ConsumerRecord

from pipelines.kafka.async_clients import started, wait_for_broker
from pipelines.kafka.follow import Follower
from pipelines.kafka.rights import needs
from pipelines.kafka.topics import TopicsConfig
from pipelines.process.tasks import meanwhile
from pipelines.settings import BrokerSettings
from pipelines.worker.adapt.link import Link

log = logging.getLogger(__name__)

EVERY_S = 1.0
"""Time between two rounds of messages."""
SEND_S = 30.0
"""After so long without an answer of the broker a round is lost."""


@asynccontextmanager
async def running(link: Link, settings: BrokerSettings, topics: TopicsConfig, give_up_s: float) -> AsyncIterator[None]:
    """Send and receive while the block runs; BadInput or Unavailable where the broker or a topic is not there."""
    samples, updates = topics.name("samples"), topics.name("updates")
    await wait_for_broker(settings, needs(read=[updates], write=[samples]), give_up_s)
    follower = Follower(settings, updates, lambda record: _take(link, record))
    async with meanwhile(follower.run()), meanwhile(_sending(link, settings, samples)):
        yield


def _take(link: Link, record: ConsumerRecord) -> None:
    place = f"topic {record.topic} partition {record.partition} offset {record.offset}"
    link.take(place, record.key, record.headers, record.value)


async def _sending(link: Link, settings: BrokerSettings, topic: str) -> None:
    producer: AIOKafkaProducer | None = None
    troubled = False
    try:
        while True:
            try:
                producer = producer or await started(settings)
                async with asyncio.timeout(SEND_S):
                    await _send(producer, topic, link)
                troubled = False
            except Exception as error:  # whatever the library raises, frames must not wait for it
                if not troubled:
                    log.warning("samples do not reach topic %s (%s): some are lost, trying again", topic, error)
                troubled = True
            if troubled:
                await asyncio.sleep(EVERY_S)
            with suppress(TimeoutError):
                async with asyncio.timeout(EVERY_S):
                    await link.news.wait()
    finally:
        if producer is not None:
            await producer.stop()


async def _send(producer: AIOKafkaProducer, topic: str, link: Link) -> None:
    stored = [
        await producer.send(topic, letter.value, letter.key, headers=list(letter.headers)) for letter in link.letters()
    ]
    await asyncio.gather(*stored)
