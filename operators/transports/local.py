"""In-process Faust transport, ``local://name``: no sockets, no broker process, no threads of its own.

Registered under the entry point ``faust.transports``. Faust demands three things of a transport besides moving records,
and fails silently without them: messages carry the consumer's generation, or streams skip them; the rebalance runs as a
task, not inside ``subscribe``; the assignor computes and receives each assignment, or tables never recover.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Iterable, Mapping
from contextlib import suppress
from typing import Any

from faust.transport import base
from faust.transport.consumer import Consumer as FaustConsumer
from faust.transport.consumer import ensure_TP
from faust.transport.producer import Producer as FaustProducer
from faust.types import TP, ConsumerMessage
from faust.types.tuples import RecordMetadata
from mode.utils.futures import done_future

from operators.transports.fetch_state import FetchState
from operators.transports.local_broker import LocalBroker
from operators.transports.log import Record
from operators.transports.waits import CheapWaits

log = logging.getLogger(__name__)
_LIBRARYS = logging.getLogger("faust.transport.local")
"""The library's own logger: what these classes log of each start and stop is its word, not ours."""

Records = dict[TP, list[Record]]


class Consumer(CheapWaits, FaustConsumer):
    """Reads all partitions of its topics; waits on an event that every append sets."""

    logger = _LIBRARYS

    consumer_stopped_errors = ()
    answered_s = None
    """Nothing is asked of a broker."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._broker: LocalBroker = self.transport.broker
        self._group: str = self.app.conf.id
        self._limit: int = self.app.conf.broker_max_poll_records or 500
        self._assigned: set[TP] = set()
        self._position: dict[TP, int] = {}
        self._changed = asyncio.Event()
        self._generation = 0

    def topic_sizes(self) -> dict[str, int]:
        """Nothing: they stay as they are."""
        return {}

    def fetch_states(self) -> list[FetchState]:
        """None: a partition in this process cannot lag behind or be refused."""
        return []

    async def on_start(self) -> None:
        """Join the group."""
        self._broker.join(self._group)
        await super().on_start()

    async def on_stop(self) -> None:
        """Commit and leave the group."""
        await super().on_stop()
        self._broker.unsubscribe(self._changed)
        self._broker.leave(self._group)

    # -- membership -----------------------------------------------------

    async def subscribe(self, topics: Iterable[str]) -> None:
        """Take all partitions of the topics, in a task of its own: Faust waits for this call while it rebalances."""
        self.add_future(self._rebalance(set(topics)))

    async def _rebalance(self, topics: set[str]) -> None:
        app = self.app
        for topic in topics:
            self._broker.create_topic(topic, app.conf.topic_partitions)
        self._broker.subscribe(self._changed, topics)
        app.on_rebalance_start()
        await self.on_partitions_revoked(set(self._assigned))
        mine = app.assignor.assign(self._broker, {"local": app.assignor.metadata(topics)})["local"]
        app.assignor.on_assignment(mine)
        self._assigned = {TP(topic, number) for topic, numbers in mine.assignment for number in numbers}
        for tp in self._assigned:
            self._position.setdefault(tp, self._first_offset(tp))
        self._generation += 1
        app.consumer_generation_id = self._generation
        await self.on_partitions_assigned(set(self._assigned), self._generation)

    def assignment(self) -> set[TP]:
        """The partitions this consumer reads."""
        return set(self._assigned)

    def _first_offset(self, tp: TP) -> int:
        committed = self._broker.committed(self._group, tp)
        if committed is not None:
            return committed
        return self._broker.start(tp)

    # -- fetching -------------------------------------------------------

    async def _wait_next_records(self, timeout: float) -> tuple[Records, set[TP] | None]:  # noqa: ASYNC109 - Faust's
        """Stock Faust sleeps a second while every partition's buffer is full; here ``on_buffer_drop`` ends the wait."""
        if not self.flow_active:
            await self.wait(self.can_resume_flow)
        active = None if self.app.client_only else self._get_active_partitions()
        return await self._getmany(active, timeout), active

    async def _getmany(self, active_partitions: set[TP] | None, timeout: float) -> Records:  # noqa: ASYNC109 - Faust's
        self._changed.clear()
        records = self._poll(active_partitions)
        if not records:
            with suppress(TimeoutError):
                async with asyncio.timeout(timeout):
                    await self._changed.wait()
            records = self._poll(active_partitions)
        return records

    def _poll(self, active: set[TP] | None) -> Records:
        if not self.flow_active:
            return {}
        wanted = self._assigned if active is None else active & self._assigned
        fetched = {tp: records for tp in wanted if (records := self._read(tp))}
        for tp, records in fetched.items():
            self._position[tp] = records[-1].offset + 1
        return fetched

    def _read(self, tp: TP) -> list[Record]:
        lost_before = self._broker.lost[self._group, tp]
        records = self._broker.read(self._group, tp, self._position[tp], self._limit)
        lost = self._broker.lost[self._group, tp] - lost_before
        if lost:
            log.warning("%s: %d messages left the log before %s read them", tp.topic, lost, self._group)
        return records

    def _to_message(self, tp: TP, record: Record) -> ConsumerMessage:
        return ConsumerMessage(
            topic=tp.topic,
            partition=tp.partition,
            offset=record.offset,
            timestamp=record.timestamp_ms / 1000,
            timestamp_type=0,
            headers=record.headers,
            key=record.key,
            value=record.value,
            checksum=None,
            tp=tp,
            generation_id=self.app.consumer_generation_id,
        )

    def _new_topicpartition(self, topic: str, partition: int) -> TP:
        return TP(topic, partition)

    def resume_partitions(self, tps: Iterable[TP]) -> None:
        """Fetch from the partitions again."""
        super().resume_partitions(tps)
        self._changed.set()

    def on_buffer_drop(self, tp: TP) -> None:
        """A partition's buffer has room again."""
        super().on_buffer_drop(tp)
        self._changed.set()

    # -- offsets --------------------------------------------------------

    async def _commit(self, offsets: Mapping[TP, int]) -> bool:
        for tp, offset in offsets.items():
            self._broker.commit(self._group, ensure_TP(tp), offset)
        return True

    async def seek_to_committed(self) -> Mapping[TP, int]:
        """Go back to the committed offsets and return them."""
        self._position = {tp: self._first_offset(tp) for tp in self._assigned}
        return dict(self._position)

    async def _seek(self, partition: TP, offset: int) -> None:
        self._position[ensure_TP(partition)] = offset

    async def seek_wait(self, partitions: Mapping[TP, int]) -> None:
        """Go to the offsets."""
        for tp, offset in partitions.items():
            await self.seek(tp, offset)

    async def seek_to_latest(self, *partitions: TP) -> None:
        """Go to the ends of the logs."""
        self._position.update({tp: self._broker.end(tp) for tp in partitions})

    async def seek_to_beginning(self, *partitions: TP) -> None:
        """Go to the oldest records kept."""
        self._position.update({tp: self._broker.start(tp) for tp in partitions})

    async def position(self, tp: TP) -> int:
        """Offset of the next record to read."""
        return self._position.get(ensure_TP(tp), 0)

    def highwater(self, tp: TP) -> int:
        """Offset that the partition's next record will get."""
        return self._broker.end(tp)

    async def earliest_offsets(self, *partitions: TP) -> Mapping[TP, int]:
        """Offsets of the oldest records kept."""
        return {tp: self._broker.start(tp) for tp in map(ensure_TP, partitions)}

    async def highwaters(self, *partitions: TP) -> Mapping[TP, int]:
        """Ends of the logs."""
        return {tp: self._broker.end(tp) for tp in map(ensure_TP, partitions)}

    def topic_partitions(self, topic: str) -> int | None:
        """Number of the topic's partitions; None for an unknown topic."""
        return len(self._broker.partitions_for_topic(topic)) or None

    def key_partition(self, topic: str, key: bytes | None, partition: int | None = None) -> int | None:
        """The partition of a key."""
        return self._broker.place(topic, key) if partition is None else partition

    async def create_topic(self, topic: str, partitions: int, replication: int, **options: Any) -> None:
        """Make a topic where it is not there."""
        self._broker.create_topic(topic, partitions)


class Producer(FaustProducer):
    """Appends to the logs at once; transactions are empty, since one process with one log cannot fail halfway."""

    logger = _LIBRARYS

    def __post_init__(self) -> None:
        self._broker: LocalBroker = self.transport.broker

    async def send(
        self,
        topic: str,
        key: bytes | None,
        value: bytes | None,
        partition: int | None,
        timestamp: float | None,
        headers: Any,
        *,
        transactional_id: str | None = None,
    ) -> Awaitable[RecordMetadata]:
        """Append a message; ``timestamp`` in seconds since the epoch. The future is done already."""
        self.app.on_produce_message.send(
            key=key, value=value, partition=partition, timestamp=timestamp, headers=headers
        )
        pairs = headers.items() if isinstance(headers, Mapping) else headers or ()
        number, record = self._broker.append(
            topic,
            key,
            value,
            tuple(pairs),
            partition=partition,
            timestamp_ms=None if timestamp is None else int(timestamp * 1000),
        )
        tp = TP(topic, number)
        stored: Awaitable[RecordMetadata] = done_future(
            RecordMetadata(topic, number, tp, record.offset, record.timestamp_ms, 0)
        )
        return stored

    async def send_and_wait(self, *args: Any, **options: Any) -> RecordMetadata:
        """Append a message and return where it lies."""
        return await (await self.send(*args, **options))

    async def flush(self) -> None:
        """Send what Faust's buffer holds."""
        await self.buffer.flush()

    def key_partition(self, topic: str, key: bytes) -> TP:
        """The partition of a key."""
        return TP(topic, self._broker.place(topic, key))

    def supports_headers(self) -> bool:
        """Headers are carried."""
        return True

    async def create_topic(self, topic: str, partitions: int, replication: int, **options: Any) -> None:
        """Make a topic where it is not there."""
        self._broker.create_topic(topic, partitions)


class Transport(base.Transport):
    """``local://name``: the broker of that name in this process."""

    Consumer = Consumer
    Producer = Producer
    default_port = 0
    driver_version = "local"

    def __init__(self, url: list[Any], app: Any, loop: asyncio.AbstractEventLoop | None = None) -> None:
        super().__init__(url, app, loop)
        self.broker = LocalBroker.named(str(url[0].host))
