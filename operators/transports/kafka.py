"""Faust's aiokafka driver with a consumer that does not stall under a backlog, registered for ``kafka://``.

Stock Faust runs at half speed with gaps of a second when its buffers fill, for three reasons, each mended here:

1. all partitions' buffers full: it sleeps a second. Here the first buffer that drains ends the wait;
2. some buffers full: it polls the others for up to a second, though the full ones drain meanwhile. Here it polls
   briefly while any partition is held back;
3. aiokafka has one fetch in flight per broker, and one that holds only idle partitions keeps the busy ones waiting for
   ``fetch_max_wait_ms``, set to 1500 by Faust. Here it is 50.
"""

from __future__ import annotations

import asyncio
from typing import Any

from faust.transport.drivers import aiokafka as driver
from faust.types import TP

from operators.transports.waits import CheapWaits

FETCH_MAX_WAIT_MS = 50
PARTIAL_POLL_S = 0.1
"""A partition that has room again waits no longer than this to be polled, on what it has in work meanwhile."""


class ConsumerThread(driver.AIOKafkaConsumerThread):
    """Sets ``fetch_max_wait_ms``, which the driver has no setting for."""

    def _create_worker_consumer(self, transport: Any) -> Any:
        consumer = super()._create_worker_consumer(transport)
        # The fetcher reads it when the consumer starts, which is after this.
        consumer._fetch_max_wait_ms = FETCH_MAX_WAIT_MS
        return consumer

    async def getmany(self, active_partitions: set[TP] | None, timeout: float) -> Any:  # noqa: ASYNC109 - Faust's
        """Fetch in this thread, past the queue by which Faust calls into it: that costs more than the call."""
        consumer = self._ensure_consumer()
        fetched = self._fetch_records(consumer, active_partitions, timeout, consumer._max_poll_records)
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(fetched, self.thread_loop))


class Consumer(CheapWaits, driver.Consumer):
    """Waits for room instead of sleeping, and polls briefly while some partitions have no room."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._room = asyncio.Event()

    def _new_consumer_thread(self) -> ConsumerThread:
        return ConsumerThread(self, loop=self.loop, beacon=self.beacon)

    async def _wait_next_records(self, timeout: float) -> tuple[Any, set[TP] | None]:  # noqa: ASYNC109 - Faust's
        if not self.flow_active:
            await self.wait(self.can_resume_flow)
        active: set[TP] = self._get_active_partitions()
        if not active:
            self._room.clear()
            await self.wait_first(self._room, timeout=timeout)
            return {}, active
        all_active = active == self.assignment()
        records = await self._getmany(active, timeout if all_active else min(timeout, PARTIAL_POLL_S))
        return records, active

    def on_buffer_drop(self, tp: TP) -> None:
        """A partition's buffer has room again."""
        super().on_buffer_drop(tp)
        self._room.set()

    def resume_partitions(self, tps: Any) -> None:
        """Fetch from the partitions again."""
        super().resume_partitions(tps)
        self._room.set()


class Transport(driver.Transport):
    """``kafka://host:port``."""

    Consumer = Consumer
