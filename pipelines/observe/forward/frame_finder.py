"""Finds the frame of an event on the topic of frames, where that still has it."""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Sequence
from contextlib import AsyncExitStack
from functools import partial

from aiokafka import AIOKafkaConsumer, ConsumerRecord, TopicPartition
from aiokafka.partitioner import DefaultPartitioner

from operators.frames.codec import FrameError, decode_frame, read_header
from operators.wire.schema import Event, FrameHeader
from pipelines.kafka.async_clients import reading
from pipelines.observe.forward.delivery import Load
from pipelines.observe.forward.sink import Missing
from pipelines.settings import BrokerSettings
from serving.common.redaction import redact
from serving.common.tensors import Image

log = logging.getLogger(__name__)

BEFORE_S = 2.0
"""Search begins so long before the time of the event's message, which is that of the frame's."""
LOOK_S = 5.0
"""The longest search."""
LOOK_BYTES = 32 << 20
"""Bytes of frames that one search may read."""
FETCH_BYTES = 1 << 20
"""Asked for at once; a larger frame comes alone."""
KEPT = 4
"""Frames that are kept, since several events and sinks may ask for the same one."""

Found = tuple[FrameHeader, bytes]


class FrameFinder:
    """One search at a time, by a consumer of its own outside of any group."""

    def __init__(self, settings: BrokerSettings, topic: str) -> None:
        self._settings, self._topic = settings, topic
        self._consumer: AIOKafkaConsumer | None = None
        self._open = AsyncExitStack()
        self._lock = asyncio.Lock()
        self._kept: OrderedDict[tuple[str, str, int], Found] = OrderedDict()
        self._warned = False

    async def find(self, event: Event, sent_s: float) -> Load | Missing:
        """``sent_s``: the time of the event's message (epoch)."""
        found = await self._find(event, sent_s)
        return found if isinstance(found, str) else partial(_image, *found)

    async def _find(self, event: Event, sent_s: float) -> Found | Missing:
        if event.captured_at is None:
            return "no_time"
        key = event.stream, event.run, event.seq
        async with self._lock:
            if (found := self._kept.get(key)) is not None:
                return found
            try:
                async with asyncio.timeout(LOOK_S):
                    searched = await self._search(event, sent_s - BEFORE_S)
            except Exception as error:  # whatever the library raises, the event goes without its picture
                await self.close()
                if not self._warned:
                    log.warning("cannot look for frames on topic %s: %s", self._topic, _said(error))
                self._warned = True
                return "not_found"
            self._warned = False
            if not isinstance(searched, str):
                self._kept[key] = searched
                if len(self._kept) > KEPT:
                    self._kept.popitem(last=False)
            return searched

    async def close(self) -> None:
        """Disconnect; the next search connects anew."""
        self._consumer = None
        await self._open.aclose()

    async def _search(self, event: Event, since_s: float) -> Found | Missing:
        consumer = self._consumer or await self._connected()
        numbers = sorted(consumer.partitions_for_topic(self._topic) or ())
        if not numbers:
            return "gone"
        place = TopicPartition(self._topic, DefaultPartitioner()(event.stream.encode(), numbers, numbers))
        consumer.assign([place])
        begin = (await consumer.offsets_for_times({place: max(0, int(since_s * 1000))}))[place]
        if begin is None:
            return "gone"
        end = (await consumer.end_offsets([place]))[place]
        consumer.seek(place, begin.offset)
        read = 0
        while read < LOOK_BYTES and await consumer.position(place) < end:
            records = (await consumer.getmany(place, timeout_ms=500)).get(place, [])
            read += sum(len(record.value or b"") for record in records)
            if (found := among(records, event)) is not None:
                return found
        return "not_found" if read >= LOOK_BYTES else "gone"

    async def _connected(self) -> AIOKafkaConsumer:
        opened = reading(self._settings, auto_offset_reset="earliest", max_partition_fetch_bytes=FETCH_BYTES)
        consumer = await self._open.enter_async_context(opened)
        self._consumer = consumer
        await consumer._client.set_topics([self._topic])  # who is assigned nothing yet is told of no topic
        return consumer


def among(records: Sequence[ConsumerRecord], event: Event) -> Found | Missing | None:
    """The frame among these messages, or what they say of it; None where they say nothing."""
    for record in records:
        if record.key != event.stream.encode():
            continue
        try:
            header = read_header(record.headers)
        except FrameError:
            continue
        if (header.stream, header.run) != (event.stream, event.run) or header.seq < event.seq:
            continue
        if header.seq > event.seq:
            return "gone"
        return (header, record.value or b"") if header.encoding == "jpeg" else "no_image"
    return None


def _image(header: FrameHeader, data: bytes) -> Image:
    return decode_frame(header, data).image


def _said(error: Exception) -> str:
    return redact(str(error) or type(error).__name__)
