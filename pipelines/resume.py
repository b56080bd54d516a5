"""Which frames have a result already: what a worker learns from the tail of the results topic when it takes over.

A worker that dies after publishing and before committing leaves frames that would be analysed again, with other track
ids and times. Its successor reads the results since the first frame it is handed and skips what they answer.
"""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict, deque
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Protocol

import msgspec
from aiokafka.errors import KafkaError

from operators.schema import FrameHeader, Result, from_json
from pipelines.settings import BrokerSettings
from pipelines.topic_reader import records

log = logging.getLogger(__name__)

MARGIN_S = 30.0
"""Frames of a partition come from several machines whose clocks differ by less than this."""
RECENT_RESULTS = 50
"""Per stream, what is kept of the tail to go on with the life cycle of tracks."""
RETRY_S = 2.0


class Resume(Protocol):
    """What is known of earlier lives of this worker and its siblings."""

    def reset(self) -> None:
        """Partitions moved: others may have answered frames meanwhile."""
        ...

    async def cover(self, since_s: float) -> None:
        """Learn of all results of frames published at ``since_s`` (epoch) or later."""
        ...

    def answered(self, header: FrameHeader) -> bool:
        """Whether the frame has a result; asked once per frame."""
        ...

    def recent(self, stream: str) -> list[Result]:
        """The stream's last results in order, given out once."""
        ...


class NothingToResume:
    """For ``local://``, whose topics live and die with the process."""

    def reset(self) -> None:
        """Nothing."""

    async def cover(self, since_s: float) -> None:
        """Nothing."""

    def answered(self, header: FrameHeader) -> bool:
        """Never."""
        return False

    def recent(self, stream: str) -> list[Result]:
        """None."""
        return []


class _Identity(msgspec.Struct):
    """The part of a result that says which frame of which query it answers."""

    query: str
    stream: str
    run: str
    seq: int


class Tail:
    """The results of one query found in the topic. Pure."""

    def __init__(self, query: str) -> None:
        self._query = query
        self._answered: set[tuple[str, str, int]] = set()
        self._recent: dict[str, deque[bytes]] = defaultdict(lambda: deque(maxlen=RECENT_RESULTS))

    def __len__(self) -> int:
        return len(self._answered)

    def add(self, value: bytes | None) -> None:
        """Take in a message of the results topic; what is no result of this query is passed over."""
        try:
            identity = from_json(value or b"", _Identity)
        except msgspec.MsgspecError:
            return
        if identity.query == self._query:
            self._answered.add((identity.stream, identity.run, identity.seq))
            self._recent[identity.stream].append(value or b"")

    def answered(self, header: FrameHeader) -> bool:
        """Whether the frame has a result; forgotten once asked, since a frame comes once."""
        key = (header.stream, header.run, header.seq)
        if key not in self._answered:
            return False
        self._answered.discard(key)
        return True

    def recent(self, stream: str) -> list[Result]:
        """The stream's last results in order, forgotten once asked for."""
        return [from_json(value, Result) for value in self._recent.pop(stream, ())]


class KafkaResume:
    """Reads the tail of the results topic with a consumer of its own, outside any group.

    Results are published with the timestamp of their frame, so the tail is found by time.
    """

    def __init__(self, settings: BrokerSettings, topic: str, query: str, flush: Callable[[], Awaitable[None]]) -> None:
        """``flush`` returns when the topic has all that this worker handed to its producer.

        A partition that went while the broker was slow leaves results there; without them the tail would be too short
        for the same partition's return, and their frames be analysed once more.
        """
        self._settings = settings
        self._topic = topic
        self._query = query
        self._flush = flush
        self._lock = asyncio.Lock()
        self.reset()

    def reset(self) -> None:
        """Partitions moved: read again at the next frame."""
        self._tail = Tail(self._query)
        self._covered_since_s = float("inf")

    async def cover(self, since_s: float) -> None:
        """Read the tail where it reaches further back than what was read since ``reset``."""
        async with self._lock:
            while since_s < self._covered_since_s:
                try:
                    self._tail = await self._read(since_s - MARGIN_S)
                    self._covered_since_s = since_s
                except (KafkaError, OSError) as error:
                    log.warning("cannot read the tail of topic %s (%s): trying again", self._topic, error)
                    await asyncio.sleep(RETRY_S)

    async def _read(self, since_s: float) -> Tail:
        await self._flush()
        tail = Tail(self._query)
        async for value in self._values(since_s * 1000):
            tail.add(value)
        if len(tail):
            log.info("topic %s: %d frames at hand may have their results already", self._topic, len(tail))
        return tail

    def answered(self, header: FrameHeader) -> bool:
        """Whether the frame has a result."""
        return self._tail.answered(header)

    def recent(self, stream: str) -> list[Result]:
        """The stream's last results in order, given out once."""
        return self._tail.recent(stream)

    async def _values(self, since_ms: float) -> AsyncIterator[bytes | None]:
        since = max(0, int(since_ms))
        async for record in records(self._settings, self._topic, "results of this query", since):
            yield record.value
