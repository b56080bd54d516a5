"""Reads topics for one sink, in a consumer group that remembers how far it has come."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial

from aiokafka import AIOKafkaConsumer, ConsumerRecord, TopicPartition
from aiokafka.errors import KafkaError, NoOffsetForPartitionError, OffsetOutOfRangeError

from operators.transports.fetches import FetchLog
from operators.transports.record_sets import unreadable
from pipelines.kafka.async_clients import for_ever, reading
from pipelines.observe.forward.in_order import InOrder
from pipelines.process.tasks import meanwhile
from pipelines.settings import BrokerSettings
from serving.common.clock import SYSTEM, Clock

log = logging.getLogger(__name__)

MOST_TAKEN = 64
"""Messages that are worked on at once."""
POLL_MS = 1000
WAITING_S = 10.0
"""How often the broker is asked how much waits."""
COMMIT_S = 5.0
DAY_MS = 86_400_000
"""A sink that is away for so long keeps its partitions: the group hears of its process by heartbeats."""
REBALANCE_MS = 30_000

Take = Callable[[ConsumerRecord], Awaitable[None]]
"""Deals with a message; returns when it may be forgotten."""


class Reader:
    """At least once: a message is done when it was delivered or given up, and only then committed."""

    def __init__(
        self, settings: BrokerSettings, topics: Sequence[str], group: str, take: Take, clock: Clock = SYSTEM
    ) -> None:
        self._settings, self._topics, self._group, self._take = settings, topics, group, take
        self._clock = clock
        self._answered_s = clock.monotonic_s()
        self._is_dealing = False
        self._left: dict[TopicPartition, set[int]] = {}
        """Offsets that are taken and not done."""
        self.waiting: int | None = None
        """Messages that were not dealt with yet, as of some seconds ago; None: nobody knows yet."""
        self.begun = asyncio.Event()
        """Is set once it is known where to read on: whatever comes from then on is told."""

    @property
    def silent_s(self) -> float:
        """For how long the broker has not answered; 0 while messages are dealt with, when nobody asks it."""
        return 0.0 if self._is_dealing else self._clock.monotonic_s() - self._answered_s

    async def run(self) -> None:
        """Read until this is cancelled, whatever becomes of the broker."""
        await for_ever(self._read, f"the reading of group {self._group}")

    async def _read(self) -> None:
        fetches = FetchLog(self._clock.monotonic_s)
        async with reading(
            self._settings,
            *self._topics,
            fetches=fetches,
            group_id=self._group,
            auto_offset_reset="none",  # where to begin is decided below
            fetch_max_wait_ms=POLL_MS,
            max_poll_interval_ms=DAY_MS,
            rebalance_timeout_ms=REBALANCE_MS,
        ) as consumer:
            await _begin(consumer, at_end=True)
            self.begun.set()
            async with meanwhile(self._count(consumer)):
                while True:
                    taken = await self._poll(consumer)
                    self._answered_s = max(self._answered_s, fetches.answered_s)
                    if taken:
                        await self.deal_with(consumer, taken)

    async def _count(self, consumer: AIOKafkaConsumer) -> None:
        while True:
            with suppress(KafkaError, OSError, TimeoutError):
                async with asyncio.timeout(WAITING_S):
                    await self.count(consumer)
            await asyncio.sleep(WAITING_S)

    async def count(self, consumer: AIOKafkaConsumer) -> None:
        """Find out how much waits: what is taken and not done does, too; raises what the client raises."""
        mine = consumer.assignment()
        ends = await consumer.end_offsets(mine) if mine else {}
        nexts = {place: min(self._left.get(place) or [await consumer.position(place)]) for place in mine}
        self.waiting = sum(max(0, end - nexts.get(place, end)) for place, end in ends.items())

    async def _poll(self, consumer: AIOKafkaConsumer) -> Mapping[TopicPartition, Sequence[ConsumerRecord]]:
        try:
            found: Mapping[TopicPartition, Sequence[ConsumerRecord]] = await consumer.getmany(
                timeout_ms=POLL_MS, max_records=MOST_TAKEN
            )
        except NoOffsetForPartitionError:  # a partition that came later
            await _begin(consumer, at_end=False)
            return {}
        except OffsetOutOfRangeError as error:
            log.warning("group %s: what was to be read next is gone: reading what is there", self._group)
            await consumer.seek_to_beginning(*error.args[0])
            return {}
        return found

    async def deal_with(
        self, consumer: AIOKafkaConsumer, taken: Mapping[TopicPartition, Sequence[ConsumerRecord]]
    ) -> None:
        """Have all messages taken, those of a key in order, and commit what is done; also where it is cancelled."""
        left = {place: {record.offset for record in records} for place, records in taken.items()}
        lines, self._left, self._is_dealing = InOrder(), left, True
        for place, records in taken.items():
            for record in records:
                lines.put((record.topic, record.key), partial(self._deal, record, left[place]))
        try:
            await lines.done()
        finally:
            self._left, self._is_dealing, self._answered_s = {}, False, self._clock.monotonic_s()
            nexts = {place: min(left[place], default=records[-1].offset + 1) for place, records in taken.items()}
            with suppress(TimeoutError):
                async with asyncio.timeout(COMMIT_S):
                    await self._commit(consumer, nexts)

    async def _deal(self, record: ConsumerRecord, left: set[int]) -> None:
        if unreadable(record.headers) is None:  # else it was logged
            await self._take(record)
        left.discard(record.offset)

    async def _commit(self, consumer: AIOKafkaConsumer, places: Mapping[TopicPartition, int]) -> None:
        """An offset that cannot be committed is committed with the next ones, or its message comes again."""
        mine = {place: offset for place, offset in places.items() if place in consumer.assignment()}
        try:
            if mine:
                await consumer.commit(mine)
        except (KafkaError, OSError) as error:
            log.info("group %s: cannot commit (%s)", self._group, error)


async def _begin(consumer: AIOKafkaConsumer, *, at_end: bool) -> None:
    """A partition of which nothing was ever told begins with what comes from now on, and keeps that place.

    One that came later, not ``at_end``, begins with its first message: all of them have come since.
    """
    for place in consumer.assignment():
        if await consumer.committed(place) is None:
            await (consumer.seek_to_end(place) if at_end else consumer.seek_to_beginning(place))
            await consumer.commit({place: await consumer.position(place)})
