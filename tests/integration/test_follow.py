"""A topic that is read outside of any group goes away, and is made anew."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from kafka.admin import KafkaAdminClient

from pipelines.kafka import follow
from pipelines.kafka.async_clients import reading
from pipelines.observe.live.broker_feed import BrokerFeed
from pipelines.observe.live.page import Page
from pipelines.process.tasks import meanwhile
from pipelines.settings import broker_settings
from tests.integration.kafka_side import create_topic, send
from tests.real.kafka import KafkaBroker

pytestmark = pytest.mark.kafka


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(90):
        while not condition():  # noqa: ASYNC110 - nobody tells
            await asyncio.sleep(0.1)


async def test_it_is_read_again_soon_once_it_is_there(
    kafka_broker: KafkaBroker, topic_prefix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    consumers, taken, topic = list[AIOKafkaConsumer](), list[bytes](), f"{topic_prefix}load.v1"

    @asynccontextmanager
    async def noted(*given: Any, **options: Any) -> AsyncIterator[AIOKafkaConsumer]:
        async with reading(*given, **options) as consumer:
            consumers.append(consumer)
            yield consumer

    async def send_one(value: bytes) -> None:
        async with AIOKafkaProducer(bootstrap_servers=kafka_broker.bootstrap) as producer:
            await producer.send_and_wait(topic, value)

    def delete() -> None:
        client = KafkaAdminClient(bootstrap_servers=kafka_broker.bootstrap)
        client.delete_topics([topic])
        client.close()

    monkeypatch.setattr(follow, "reading", noted)
    await asyncio.to_thread(create_topic, kafka_broker.bootstrap, topic)
    settings = broker_settings(f"kafka://{kafka_broker.bootstrap}")
    async with meanwhile(follow.Follower(settings, topic, lambda record: taken.append(record.value)).run()):
        await send_one(b"before")
        await until(lambda: taken == [b"before"])
        await asyncio.to_thread(delete)
        await until(lambda: not consumers[-1].assignment())
        await asyncio.to_thread(create_topic, kafka_broker.bootstrap, topic)
        await send_one(b"after")
        await until(lambda: taken == [b"before", b"after"])


async def test_the_page_shows_what_comes_from_now_on_whatever_its_clock_says(
    kafka_broker: KafkaBroker, topic_prefix: str
) -> None:
    """The clock of whoever wrote the topic's messages is half an hour ahead of this machine's."""
    topic, taken = f"{topic_prefix}results.v1", list[bytes]()
    await asyncio.to_thread(create_topic, kafka_broker.bootstrap, topic)
    ahead_ms = round((time.time() + 1800) * 1000)
    await asyncio.to_thread(send, kafka_broker.bootstrap, topic, [(b"gate", b"before")], ahead_ms)
    settings = broker_settings(f"kafka://{kafka_broker.bootstrap}")
    (reader,) = BrokerFeed(settings, {"results": topic}, Page("test"))._readers
    reader._take = lambda record: taken.append(record.value)
    async with meanwhile(reader.run()):
        async with asyncio.timeout(90):
            await reader.caught_up.wait()
        await asyncio.to_thread(send, kafka_broker.bootstrap, topic, [(b"gate", b"now")], ahead_ms + 1000)
        await until(lambda: b"now" in taken)
    assert taken == [b"now"]
