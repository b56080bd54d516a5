"""Reads a topic from a place on and goes on for ever, whatever becomes of the broker; outside of any group."""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections.abc import Callable, Sequence

from aiokafka import AIOKafkaConsumer, ConsumerRecord, TopicPartition

from operators.transports.fetches import FetchLog
from operators.transports.record_sets import unreadable
from operators.wire.mishaps import Mishaps
from pipelines.kafka.async_clients import for_ever, place_of, reading
from pipelines.settings import BrokerSettings

log = logging.getLogger(__name__)

AT_ONCE = 64
"""Messages that are held in memory at once."""
POLL_MS = 2000
"""How long the broker waits for news before it says that there are none; news come at once."""

Take = Callable[[ConsumerRecord], None]
"""Takes a message; one at which it raises is passed over."""


class Follower:
    def __init__(self, settings: BrokerSettings, topic: str, take: Take, since_s: float | None = None) -> None:
        """``since_s``: begin with messages of that moment, seconds since 1970; None: with the oldest; infinity: with
        those that come from now on, whatever this machine's clock says."""
        self.topic = topic
        self._settings, self._take, self._since_s = settings, take, since_s
        self._mishaps = Mishaps(log)
        self._positions: dict[TopicPartition, int] = {}
        self.caught_up = asyncio.Event()
        """Is set once everything has been read that was there at the beginning."""
        self.answered_s = time.monotonic()
        """When the broker last answered."""

    async def run(self) -> None:
        """Read until this is cancelled."""
        await for_ever(self._read, f"reading topic {self.topic}")

    async def _read(self) -> None:
        fetches, options = FetchLog(), {"auto_offset_reset": "earliest", "fetch_max_wait_ms": POLL_MS}
        async with reading(self._settings, self.topic, fetches=fetches, **options) as consumer:
            ends = await self._begin(consumer)
            while True:
                batches = await consumer.getmany(timeout_ms=POLL_MS, max_records=AT_ONCE)
                for place, records in batches.items():
                    self._take_all(records)
                    self._positions[place] = await consumer.position(place)
                self.answered_s = max(self.answered_s, fetches.answered_s)
                if not self.caught_up.is_set() and all(
                    [await consumer.position(place) >= end for place, end in ends.items()]
                ):
                    self.caught_up.set()

    def _take_all(self, records: Sequence[ConsumerRecord]) -> None:
        for record in records:
            if unreadable(record.headers) is not None:
                continue
            try:
                self._take(record)
            except Exception as error:  # the next message may be a good one
                said = f"{place_of(record)}: {type(error).__name__}: {error}"
                self._mishaps.note("a message is passed over", said)

    async def _begin(self, consumer: AIOKafkaConsumer) -> dict[TopicPartition, int]:
        """Seek to where reading begins or goes on; the ends as they are now."""
        places = list(consumer.assignment())
        ends: dict[TopicPartition, int] = await consumer.end_offsets(places)
        first: dict[TopicPartition, int] = await consumer.beginning_offsets(places)
        if self._since_s is not None:
            times = {} if self._since_s == math.inf else dict.fromkeys(places, int(self._since_s * 1000))
            found = await consumer.offsets_for_times(times) if times else {}
            first = {place: found[place].offset if found.get(place) else ends[place] for place in places}
        for place in places:
            known = self._positions.get(place, first[place])
            # A topic that was made anew is shorter: it is read from its beginning.
            consumer.seek(place, known if known <= ends[place] else first[place])
        return ends
