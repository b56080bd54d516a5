"""Reads what a topic has at present, outside any group."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from typing import TypeVar

import msgspec
from aiokafka import AIOKafkaConsumer, ConsumerRecord, TopicPartition
from aiokafka.errors import KafkaError, RequestTimedOutError

from operators.transports.record_sets import unreadable
from operators.wire.schema import from_json
from pipelines.kafka.async_clients import reading
from pipelines.settings import BrokerSettings
from serving.common.redaction import redact
from serving.errors import Malformed, Unavailable

log = logging.getLogger(__name__)

M = TypeVar("M", bound=msgspec.Struct)

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


async def messages(settings: BrokerSettings, topic: str, kind: type[M], stream: str | None) -> AsyncIterator[M]:
    """All messages of this kind, or those of one stream; others are passed over. Unavailable without a broker."""
    try:
        async for record in records(settings, topic, "what is explained"):
            if record.value is not None and (stream is None or record.key == stream.encode()):
                with suppress(Malformed):  # others may write to the topic too
                    yield from_json(record.value, kind)
    except (KafkaError, OSError) as error:
        said = redact(str(error) or type(error).__name__)
        raise Unavailable(
            f"broker {settings.url}: topic {topic} cannot be read: {said}; is it there, and may you read it?"
        ) from None
