"""Reads what a topic has at present, outside any group; one result, and the audits of a stream's shortcuts."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable, Mapping

from aiokafka import AIOKafkaConsumer, ConsumerRecord, TopicPartition
from aiokafka.errors import KafkaError, RequestTimedOutError

from operators.transports.record_sets import unreadable
from operators.wire.schema import NodePlan, Result, StreamPlan, from_json
from pipelines.kafka.async_clients import reading
from pipelines.settings import BrokerSettings
from serving.common.redaction import redact
from serving.errors import Malformed, Unavailable

log = logging.getLogger(__name__)

SILENCE_S = 10.0
"""Seconds without a record after which the broker counts as one that does not answer."""
AT_ONCE = 64
"""Messages that are held in memory at once."""
LONG = 100_000
"""Reading this many messages takes seconds, so it is logged."""


async def records(
    settings: BrokerSettings, topic: str, what: str, since_ms: int | None = None
) -> AsyncIterator[ConsumerRecord]:
    """All messages, in order per partition; with ``since_ms`` (epoch) those since. Raises ``KafkaError`` or OSError.

    What cannot be read is logged and left out; ``what`` says what is looked for, should it take long.
    """
    # Without a group a consumer is assigned all partitions of its topic at once.
    async with reading(settings, topic) as consumer:
        ends = await consumer.end_offsets(consumer.assignment())
        starts = await _starts(consumer, ends, since_ms)
        length = sum(ends[partition] - start for partition, start in starts.items())
        if length >= LONG:
            log.info("topic %s: looking for %s among its last %d messages", topic, what, length)
        unread = set(starts)
        while unread:
            batches = await consumer.getmany(*unread, timeout_ms=round(SILENCE_S * 1000), max_records=AT_ONCE)
            for record in (record for batch in batches.values() for record in batch):
                if unreadable(record.headers) is None:
                    yield record
            unread = {partition for partition in unread if await consumer.position(partition) < ends[partition]}
            if unread and not batches:
                raise RequestTimedOutError(f"nothing came for {SILENCE_S:g} s")


async def _starts(
    consumer: AIOKafkaConsumer, ends: Mapping[TopicPartition, int], since_ms: int | None
) -> dict[TopicPartition, int]:
    """Seek to the first wanted record of every partition that has one."""
    if since_ms is None:
        starts = await consumer.beginning_offsets(list(ends))
    else:
        found = await consumer.offsets_for_times(dict.fromkeys(ends, since_ms))
        starts = {partition: place.offset for partition, place in found.items() if place}
    starts = {partition: start for partition, start in starts.items() if start < ends[partition]}
    for partition, start in starts.items():
        consumer.seek(partition, start)
    return starts


async def each_result(settings: BrokerSettings, topic: str, stream: str | None, take: Callable[[Result], None]) -> None:
    """Hand every result of the topic, or of one stream, to ``take``; Unavailable where there is no broker."""
    try:
        async for record in records(settings, topic, "the result"):
            if record.value is None or (stream is not None and record.key != stream.encode()):
                continue
            try:
                take(from_json(record.value, Result))
            except Malformed:
                continue  # others may write to the topic too
    except (KafkaError, OSError) as error:
        raise _unavailable(settings, topic, error) from None


async def audits(settings: BrokerSettings, topic: str, stream: str, query: str) -> list[NodePlan]:
    """The shortcuts' audits in the latest plan of a stream; Unavailable where there is no broker."""
    found: list[NodePlan] = []
    try:
        async for record in records(settings, topic, "the stream's plan"):
            if record.value is None or record.key != stream.encode():
                continue
            try:
                plan = from_json(record.value, StreamPlan)
            except Malformed:
                continue
            if (plan.stream, plan.query) == (stream, query):
                found = plan.nodes
    except (KafkaError, OSError) as error:
        raise _unavailable(settings, topic, error) from None
    return found


def _unavailable(settings: BrokerSettings, topic: str, error: Exception) -> Unavailable:
    said = redact(str(error) or type(error).__name__)
    return Unavailable(
        f"broker {settings.url}: topic {topic} cannot be read: {said}; is it there, and may you read it?"
    )
