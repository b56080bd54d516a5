"""Whoever may write to the state topic cannot choose how much memory a worker takes."""

from __future__ import annotations

import asyncio
import logging
import tracemalloc

import pytest
from kafka import KafkaProducer

from pipelines.partition.duties import StateConfig
from pipelines.partition.publisher import Publisher
from pipelines.worker.state_topic import MAX_BYTES, TopicStateStore
from tests.integration.kafka_side import create_topic
from tests.integration.worker_parts import plain
from tests.pipelines.worker.test_state_topic import Node, kept
from tests.real.kafka import KafkaBroker

pytestmark = pytest.mark.kafka

MESSAGES, SIZE_BYTES = 200, 900_000


async def test_large_states_are_let_go_of_and_the_latest_stay(
    kafka_broker: KafkaBroker, topic_prefix: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    topic, node = f"{topic_prefix}state.v1", Node()
    create_topic(kafka_broker.bootstrap, topic, {"max.message.bytes": "8388608"}, partitions=1)
    producer = KafkaProducer(
        bootstrap_servers=kafka_broker.bootstrap, compression_type="gzip", max_request_size=8 << 20
    )
    for number in range(MESSAGES):
        producer.send(topic, key=f"vehicles/{number}".encode(), value=b" " * SIZE_BYTES)
    producer.send(topic, key=b"vehicles/huge", value=b" " * 3_000_000)
    producer.send(topic, key=b"vehicles/gate", value=kept(kind=7))
    producer.flush()
    producer.close()

    settings, what = plain(kafka_broker), StateConfig(topic, {"kind": node}, asyncio.Event())
    state_topic = TopicStateStore(
        settings, "vehicles", what, Publisher(lambda message: pytest.fail("nothing is published"))
    )
    tracemalloc.start()
    try:
        await state_topic.read()
        kept_bytes, most_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    state_topic.restore("gate")

    assert node.known == {"gate": 7}
    assert kept_bytes < MAX_BYTES + 4_000_000
    assert most_bytes < MESSAGES * SIZE_BYTES
    # The clients and the retries of a busy broker log too.
    (line,) = (text for record in caplog.records if "not kept" in (text := record.getMessage()))
    assert f"{MESSAGES + 1 - MAX_BYTES // (SIZE_BYTES + 200)} snapshots are not kept" in line
