"""Takes chunks from ``jobs.v1`` in a group with other workers; what a worker has done is acknowledged at once."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable

from aiokafka import AIOKafkaConsumer, ConsumerRebalanceListener, ConsumerRecord, TopicPartition
from aiokafka.errors import KafkaError

from operators.transports.record_sets import unreadable
from operators.wire.mishaps import Mishaps
from operators.wire.schema import JobOrder, from_json
from pipelines.kafka.async_clients import for_ever, place_of, reading, wait_for_broker
from pipelines.kafka.rights import needs
from pipelines.run.jobs.pending import Lease, Pending
from pipelines.settings import BrokerSettings
from serving.errors import Malformed

log = logging.getLogger(__name__)

POLL_MS = 500
AT_ONCE = 64
"""Messages that are taken from the client at once."""
SESSION_MS = 10_000
"""After so long without a heartbeat a worker counts as dead, and others go on with its chunks."""
HANDOVER_S = 10.0
"""How long a chunk in work may take to be put down where its partition moves away."""
PATIENCE_S = 60.0


class ChunkTaker(ConsumerRebalanceListener):  # type: ignore[misc]
    """Reads on while a chunk is in work: it stays in its group however long that takes, and hears of jobs' ends."""

    def __init__(self, settings: BrokerSettings, topic: str, group: str) -> None:
        self.put_down = asyncio.Event()
        """Is set where the chunk in work is not wanted any more, or has moved away."""
        self._settings, self._topic, self._group = settings, topic, group
        self._pending = Pending()
        self._consumer: AIOKafkaConsumer | None = None
        self._lease: Lease | None = None
        self._news, self._idle = asyncio.Event(), asyncio.Event()
        self._idle.set()
        self._mishaps = Mishaps(log)

    async def run(self) -> None:
        """Read until this is cancelled, whatever becomes of the broker."""
        await for_ever(self._read, f"taking chunks from topic {self._topic}")

    async def next(self, partition: int | None, last: int | None = None) -> Lease:
        """Wait for a chunk, by the order of ``Pending.first``; it is in work until ``free``."""
        while (lease := self._pending.first(partition, last)) is None:
            self._news.clear()  # before others have their turn: what they read meanwhile is news
            await self._acknowledge()
            await self._news.wait()
        self.put_down.clear()
        self._idle.clear()
        self._lease = lease
        return lease

    async def done(self, lease: Lease) -> Lease | None:
        """The chunk's results are durable. The one that is in work from now on, if its recording goes on in it."""
        self._lease = following = self._pending.following(lease)  # messages that come meanwhile are held against it
        self._pending.done(lease)
        await self._acknowledge()
        if following is not None and not self._pending.wanted(following):
            self._lease = None
        return self._lease

    def free(self) -> None:
        self._lease = None
        self._idle.set()

    async def on_partitions_revoked(self, revoked: Iterable[TopicPartition]) -> None:
        """Put the chunk in work down before others may have it."""
        self._forget()
        try:
            async with asyncio.timeout(HANDOVER_S):
                await self._idle.wait()
        except TimeoutError:
            log.warning("a chunk was not put down within %.0f s: another worker waits for it", HANDOVER_S)

    async def on_partitions_assigned(self, assigned: Iterable[TopicPartition]) -> None:
        """Begin where the partitions' work was acknowledged last."""

    async def _read(self) -> None:
        await wait_for_broker(self._settings, needs(read=[self._topic], group=self._group), PATIENCE_S)
        try:
            async with reading(
                self._settings,
                group_id=self._group,
                auto_offset_reset="earliest",
                session_timeout_ms=SESSION_MS,
                heartbeat_interval_ms=SESSION_MS // 3,
            ) as consumer:
                await self._take_all(consumer)
        finally:
            self._forget()

    async def _take_all(self, consumer: AIOKafkaConsumer) -> None:
        self._consumer = consumer
        try:
            consumer.subscribe([self._topic], listener=self)
            while True:
                self._read_ahead(consumer)
                for records in (await consumer.getmany(timeout_ms=POLL_MS, max_records=AT_ONCE)).values():
                    for record in records:
                        self._take(record)
        finally:
            self._consumer = None

    def _read_ahead(self, consumer: AIOKafkaConsumer) -> None:
        assigned, paused = consumer.assignment(), consumer.paused()
        if self._pending.full and assigned - paused:
            consumer.pause(*assigned)
        elif paused and not self._pending.full:
            consumer.resume(*paused)

    def _take(self, record: ConsumerRecord) -> None:
        order = None
        if unreadable(record.headers) is None:
            try:
                order = from_json(record.value or b"", JobOrder)
            except Malformed as error:
                self._mishaps.note("a message is passed over", f"{place_of(record)}: {error}")
        self._pending.take(record.partition, record.offset, order, len(record.value or b""))
        if self._lease is not None and not self._pending.wanted(self._lease):
            self.put_down.set()
        self._news.set()

    async def _acknowledge(self) -> None:
        """Failing that the work is found to be done when it is taken again."""
        passed = {TopicPartition(self._topic, each): offset for each, offset in self._pending.passed().items()}
        if self._consumer is None or not passed:
            return
        try:
            await self._consumer.commit(passed)
        except KafkaError as error:
            log.debug("chunks that are done could not be acknowledged: %s", error)

    def _forget(self) -> None:
        self._pending.clear()
        if self._lease is not None:
            self.put_down.set()
