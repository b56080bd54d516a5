"""The tail of a real results topic, as a worker reads it when it takes partitions over."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from aiokafka import AIOKafkaProducer

from operators.wire.schema import to_json
from pipelines.kafka.options import client_options
from pipelines.partition import resume
from pipelines.partition.resume import KafkaResume
from pipelines.settings import BrokerSettings
from tests.integration.kafka_side import create_topic
from tests.integration.worker_parts import plain
from tests.pipelines.partition.test_resume import header, result
from tests.real.kafka import KafkaBroker, RemoteBroker

pytestmark = pytest.mark.kafka


@pytest.fixture
def settings(kafka_broker: KafkaBroker | RemoteBroker) -> BrokerSettings:
    return plain(kafka_broker)


@pytest.fixture
def topic(kafka_broker: KafkaBroker | RemoteBroker, topic_prefix: str) -> str:
    name = f"{topic_prefix}results.v1"
    create_topic(kafka_broker.bootstrap, name, partitions=3)
    return name


@asynccontextmanager
async def producing(settings: BrokerSettings, linger_ms: int = 0) -> AsyncIterator[AIOKafkaProducer]:
    producer = AIOKafkaProducer(**client_options(settings), linger_ms=linger_ms)
    await producer.start()
    try:
        yield producer
    finally:
        await producer.stop()


async def send(producer: AIOKafkaProducer, topic: str, seq: int, at_s: float, query: str = "vehicles") -> None:
    """Not waiting until it is stored."""
    stream = f"camera-{seq % 5}"
    value = to_json(result(seq, stream, query))
    await producer.send(topic, value, key=stream.encode(), timestamp_ms=round(at_s * 1000))


async def test_results_since_a_frame_s_time_are_found_in_all_partitions(settings: BrokerSettings, topic: str) -> None:
    now_s = time.time()
    long_ago_s = now_s - resume.MARGIN_S - 60
    async with producing(settings) as producer:
        for seq in range(20):
            await send(producer, topic, seq, long_ago_s)
        for seq in range(20, 60):
            await send(producer, topic, seq, now_s + seq)
            await send(producer, topic, 100 + seq, now_s + seq, query="people")
        await producer.flush()
        tail = KafkaResume(settings, topic, "vehicles", producer.flush)
        await tail.cover(now_s + 20)

    assert [seq for seq in range(200) if tail.answered(header(seq, f"camera-{seq % 5}"))] == list(range(20, 60))


async def test_an_empty_topic_answers_nothing(settings: BrokerSettings, topic: str) -> None:
    async with producing(settings) as producer:
        tail = KafkaResume(settings, topic, "vehicles", producer.flush)
        await tail.cover(time.time())
    assert not tail.answered(header(0))


async def test_results_that_still_wait_in_the_worker_s_producer_count(settings: BrokerSettings, topic: str) -> None:
    now_s = time.time()
    async with producing(settings, linger_ms=1500) as producer:
        for seq in range(10):
            await send(producer, topic, seq, now_s)
        tail = KafkaResume(settings, topic, "vehicles", producer.flush)
        async with asyncio.timeout(180):
            await tail.cover(now_s)
    assert all(tail.answered(header(seq, f"camera-{seq % 5}")) for seq in range(10))
