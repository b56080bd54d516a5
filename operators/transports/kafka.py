"""Faust's aiokafka driver with a consumer that does not stall under a backlog, registered for ``kafka://``.

Stock Faust runs at half speed with gaps of a second when its buffers fill, for three reasons, each mended here:

1. all partitions' buffers full: it sleeps a second. Here the first buffer that drains ends the wait;
2. some buffers full: it polls the others for up to a second, though the full ones drain meanwhile. Here it polls
   briefly while any partition is held back;
3. aiokafka has one fetch in flight per broker, and one that holds only idle partitions keeps the busy ones waiting for
   ``fetch_max_wait_ms``, set to 1500 by Faust. Here it is 50.

A batch that cannot be read does not stall it either: see ``record_sets``.

Stock Faust may also lose messages where a rebalance begins before the last is over: it reads on in between, drops what
it reads, and does not go back in partitions that were never committed: see ``resume_flow``, ``seek_to_committed``.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from typing import Any

from aiokafka import TopicPartition
from aiokafka.errors import IllegalStateError, KafkaError
from aiokafka.structs import OffsetAndMetadata
from faust.transport.drivers import aiokafka as driver
from faust.types import TP

from operators.transports.fetches import FetchLog, FetchState, PartitionLost, watch_fetches
from operators.transports.waits import CheapWaits

log = logging.getLogger(__name__)

FETCH_MAX_WAIT_MS = 50
PARTIAL_POLL_S = 0.1
"""A partition that has room again waits no longer than this to be polled, on what it has in work meanwhile."""


class ConsumerThread(driver.AIOKafkaConsumerThread):
    """Sets ``fetch_max_wait_ms``, which the driver has no setting for, and lets nothing unreadable in."""

    def _create_worker_consumer(self, transport: Any) -> Any:
        consumer = super()._create_worker_consumer(transport)
        # The fetcher reads them when the consumer starts, which is after this.
        consumer._fetch_max_wait_ms = FETCH_MAX_WAIT_MS
        consumer._check_crcs = False  # they have been checked when the records were found readable
        watch_fetches(consumer, self.consumer.fetches)
        return consumer

    def close(self) -> None:
        """Nothing: the thread closes its consumer when it stops.

        Faust calls this where partitions are revoked while its app stops, as after a process was frozen for longer
        than its session. It closes the consumer by the app's event loop while the thread's loop still runs its tasks:
        both then step the same coroutines, and the thread, finding it closed, leaves them running.
        """

    async def on_thread_stop(self) -> None:
        """Stop, also where the client breaks off its own end, as it does while the broker is away.

        Faust then takes the thread for one that still stops, and waits a minute for it.
        """
        with suppress(asyncio.CancelledError):
            await super().on_thread_stop()

    async def _commit(self, offsets: Any) -> bool:
        """Whether the broker has taken them.

        Faust ends its app here, from this thread, by what belongs to the thread of the app: two threads then run the
        same tasks. A commit that fails is no reason to end anything.
        """
        consumer = self._ensure_consumer()
        assigned = consumer.assignment()
        places = {tp: TopicPartition(tp.topic, tp.partition) for tp in offsets}
        wanted = {place: OffsetAndMetadata(offsets[tp], "") for tp, place in places.items() if place in assigned}
        try:
            if wanted:
                await consumer.commit(wanted)
        except (KafkaError, IllegalStateError, OSError) as error:
            log.debug("offsets not committed, trying again with the next: %r", error)
            return False
        return True

    async def go_on_from(self, wanted: dict[TP, int]) -> dict[TP, int]:
        """Commit where to go on instead of these offsets, which do not exist; those that do."""
        begins: dict[TP, int] = await self.call_thread(self._go_on_from, wanted)
        return begins

    async def _go_on_from(self, wanted: dict[TP, int]) -> dict[TP, int]:
        consumer = self._ensure_consumer()
        places = {tp: TopicPartition(tp.topic, tp.partition) for tp in wanted}
        starts = await consumer.beginning_offsets(list(places.values()))
        # What is beyond the end belongs to another topic or to frames that are gone; what is before the start was
        # deleted before it was read. The oldest that is left comes next.
        begins = {tp: starts[place] for tp, place in places.items()}
        await consumer.commit({places[tp]: OffsetAndMetadata(begin, "") for tp, begin in begins.items()})
        return begins

    async def seek_to_committed(self) -> Any:
        """Go back to what is committed in every partition; to the beginning where nothing is.

        Faust leaves a partition that was never committed where it is, which is behind what it has read and dropped
        since a rebalance began.
        """
        return await self.call_thread(self._seek_to_committed)

    async def _seek_to_committed(self) -> Any:
        consumer = self._ensure_consumer()
        committed = await consumer.seek_to_committed()
        never = [place for place, offset in committed.items() if not offset]
        if never:
            await consumer.seek_to_beginning(*never)
        return committed

    async def getmany(self, active_partitions: set[TP] | None, timeout: float) -> Any:  # noqa: ASYNC109 - Faust's
        """Fetch in this thread, past the queue by which Faust calls into it: that costs more than the call."""
        consumer = self._ensure_consumer()
        fetched = self._fetch_records(consumer, active_partitions, timeout, consumer._max_poll_records)
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(fetched, self.thread_loop))


class Consumer(CheapWaits, driver.Consumer):
    """Waits for room instead of sleeping, and polls briefly while some partitions have no room."""

    def __init__(self, *args: Any, **options: Any) -> None:
        self.fetches = FetchLog()
        super().__init__(*args, **options)
        self._room = asyncio.Event()
        self._handed: dict[TP, tuple[int, int]] = {}
        """From which offset on, and up to which, since the partition was assigned."""
        self._uncommitted: dict[TP, int] = {}
        self._moves = self._sought = 0
        """How often partitions began to move, and how often they had when it was last looked up where to go on."""

    @property
    def answered_s(self) -> float | None:
        """When the broker last answered a fetch, on the monotonic clock; None while nothing is asked of it."""
        asking = bool(self._states()) and bool(self._get_active_partitions())
        return self.fetches.answered_s if asking else None

    def topic_sizes(self) -> dict[str, int]:
        """How many partitions each topic has that it reads, as far as that is known."""
        consumer = self._thread._consumer
        topics = {tp.topic for tp in self._states()}
        return {topic: len(consumer.partitions_for_topic(topic) or ()) for topic in topics}

    def fetch_states(self) -> list[FetchState]:
        """The consumer's progress in every partition that it is assigned."""
        return [self._fetch_state(tp, position) for tp, position in self._states().items()]

    def _fetch_state(self, tp: TP, position: int | None) -> FetchState:
        place = tp.topic, tp.partition
        begun, handed = self._handed.get(tp, (None, None))
        return FetchState(
            *place, self.fetches.ends.get(place), position, begun, handed, self.fetches.refusals.get(place)
        )

    def _states(self) -> dict[TP, int | None]:
        """The position of every partition, read from the other thread's consumer without waiting for it."""
        consumer = self._thread._consumer
        subscription = None if consumer is None else consumer._subscription.subscription
        assignment = None if subscription is None else subscription.assignment
        if assignment is None:
            return {}
        return {TP(tp.topic, tp.partition): assignment.state_value(tp)._position for tp in assignment.tps}

    def _new_consumer_thread(self) -> ConsumerThread:
        return ConsumerThread(self, loop=self.loop, beacon=self.beacon)

    async def _wait_next_records(self, timeout: float) -> tuple[Any, set[TP] | None]:  # noqa: ASYNC109 - Faust's
        if self.fetches.lost:
            raise PartitionLost(await self._say_what_is_lost())
        if not self.flow_active:
            await self.wait(self.can_resume_flow)
        active: set[TP] = self._get_active_partitions()
        if not active:
            self._room.clear()
            await self.wait_first(self._room, timeout=timeout)
            return {}, active
        all_active = active == self.assignment()
        generation = self.app.consumer_generation_id
        records = await self._getmany(active, timeout if all_active else min(timeout, PARTIAL_POLL_S))
        if generation == self.app.consumer_generation_id:
            for tp, found in records.items():
                begun, _ = self._handed.get(tp, (found[0].offset, 0))
                self._handed[TP(tp.topic, tp.partition)] = begun, found[-1].offset + 1
        return records, active

    async def on_partitions_revoked(self, revoked: set[TP]) -> None:
        self._moves += 1
        await super().on_partitions_revoked(revoked)

    async def perform_seek(self) -> None:
        moves = self._moves
        await super().perform_seek()
        self._sought = moves

    def resume_flow(self) -> None:
        """Go on, unless partitions began to move after it was looked up where to go on.

        The next rebalance then looks it up, and goes on. Faust would go on in between, with partitions that nobody
        works on yet or any more, and drop their messages.
        """
        if self._sought == self._moves or not self.assignment():
            super().resume_flow()

    async def on_partitions_assigned(self, assigned: set[TP], generation_id: int = 0) -> None:
        """Nothing has been handed on of what comes from here on."""
        self._moves += 1
        self._handed.clear()
        self._uncommitted.clear()
        await super().on_partitions_assigned(assigned, generation_id)

    def _filter_committable_offsets(self, tps: Any) -> dict[TP, int]:
        """Leave out the offsets of partitions that may have been made anew."""
        offsets = {**self._uncommitted, **super()._filter_committable_offsets(tps)}
        return {tp: offset for tp, offset in offsets.items() if (tp.topic, tp.partition) not in self.fetches.lost}

    async def _commit(self, offsets: Any) -> bool:
        """Offsets that the broker refuses now are committed with the next ones."""
        done = await self._thread.commit(offsets)
        for tp, offset in offsets.items():
            if done:
                self._uncommitted.pop(tp, None)
            else:
                self._uncommitted[tp] = offset
        return bool(done)

    async def _say_what_is_lost(self) -> str:
        """Commit where to go on in what is still there, so that the next reader begins there; why."""
        places = {TP(*place): lost for place, lost in self.fetches.lost.items()}
        wanted = {tp: lost.offset for tp, lost in places.items() if lost.out_of_range}
        if not wanted:
            return f"topic {next(iter(places)).topic} is gone"
        begins = await self._thread.go_on_from(wanted)
        return "; ".join(
            f"topic {tp.topic} partition {tp.partition} has no offset {offset}: going on from {begins[tp]}"
            for tp, offset in wanted.items()
        )

    def on_buffer_drop(self, tp: TP) -> None:
        """A partition's buffer has room again."""
        super().on_buffer_drop(tp)
        self._room.set()

    def resume_partitions(self, tps: Any) -> None:
        super().resume_partitions(tps)
        self._room.set()


class Transport(driver.Transport):
    """``kafka://host:port``."""

    Consumer = Consumer
