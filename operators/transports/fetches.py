"""Stands between aiokafka and its broker: removes from fetched data what the library cannot read, and keeps what the
broker's answers say of a consumer's partitions."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from aiokafka import AIOKafkaConsumer
from aiokafka.errors import for_code
from aiokafka.protocol.fetch import FetchRequest
from aiokafka.record.default_records import DefaultRecordBatchBuilder
from aiokafka.record.memory_records import MemoryRecords

from operators.transports.record_sets import Format, readable
from operators.wire.mishaps import Mishaps

log = logging.getLogger(__name__)

FORMAT = Format(MemoryRecords, DefaultRecordBatchBuilder)
NO_ERROR, OUT_OF_RANGE, UNKNOWN_TOPIC, UNKNOWN_TOPIC_ID = 0, 1, 3, 100
GONE = {OUT_OF_RANGE, UNKNOWN_TOPIC, UNKNOWN_TOPIC_ID}
"""Errors after which a topic may be another one of the same name, or lack what was to be read."""

Place = tuple[str, int]
"""Topic and partition."""


class PartitionLost(Exception):
    """A partition is no longer what it was: its reader must begin anew."""


@dataclass(frozen=True, slots=True)
class FetchState:
    """How far a consumer has come with a partition. Offsets are those of the next message; None where unknown."""

    topic: str
    partition: int
    end: int | None
    position: int | None
    begun: int | None
    """The first that the consumer has handed on since it was assigned; None where it has handed none on."""
    handed: int | None
    """Behind the last that it has handed on."""
    refusal: str | None
    """The broker's error, where it answers every fetch with one."""


@dataclass(frozen=True, slots=True)
class Lost:
    """Why a partition cannot be read on."""

    out_of_range: bool
    """Whether the partition lacks the offset; else there is no such topic."""
    offset: int
    """The offset that was asked for."""


class FetchLog:
    """The answers to one consumer: its thread writes, any thread may read."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._mishaps = Mishaps(log)
        self.answered_s = clock()
        """When the broker last answered a fetch."""
        self.ends: dict[Place, int] = {}
        self.refusals: dict[Place, str] = {}
        """The broker's errors, where it answers every fetch with one."""
        self.lost: dict[Place, Lost] = {}
        """Partitions that are no longer what they were: deleted, made anew, or cut short."""

    def answered(self, place: Place, offset: int, error_code: int, end: int) -> None:
        """The broker's answer to a fetch of ``offset``."""
        self.answered_s = self._clock()
        if error_code == NO_ERROR:
            self.ends[place] = end
            self.refusals.pop(place, None)
            return
        self.refusals[place] = for_code(error_code).__name__
        if error_code in GONE:
            self.lost[place] = Lost(error_code == OUT_OF_RANGE, offset)

    def readable(self, place: Place, offset: int, end: int, data: bytes) -> bytes:
        """The records of an answer, without those that cannot be read: these are counted and logged."""
        data, problems = readable(data, offset, end, FORMAT)
        for problem in problems:
            self._mishaps.note("a batch is skipped", f"topic {place[0]} partition {place[1]}: {problem}")
        return data


def watch_fetches(consumer: AIOKafkaConsumer, fetches: FetchLog) -> None:
    """Have all answers to a consumer pass here from now on; to be called before it is started."""
    client = consumer._client
    send = client.send

    async def send_and_mend(node_id: Any, request: Any, **options: Any) -> Any:
        response = await send(node_id, request, **options)
        if isinstance(request, FetchRequest):
            asked = {(topic, number): offset for topic, parts in request.topics for number, offset, _ in parts}
            response.topics = [
                (topic, [_mended(part, asked, topic, fetches) for part in parts]) for topic, parts in response.topics
            ]
        return response

    client.send = send_and_mend


def _mended(part: Any, asked: dict[Place, int], topic: str, fetches: FetchLog) -> Any:
    """One partition of an answer: its number, an error, its end, and last its records."""
    number, error_code, end, *between, data = part
    place = topic, number
    fetches.answered(place, asked[place], error_code, end)
    if data:
        data = fetches.readable(place, asked[place], end, bytes(data))
    return (number, error_code, end, *between, data)
