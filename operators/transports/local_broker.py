"""Topics, placement, group offsets and wake-ups of the in-process transport, without Faust.

Thread-safe: capture threads append while the event loop reads. ``LocalBroker.named`` is what ``local://name`` means;
everything lives and dies with the process.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections import Counter
from collections.abc import Iterable
from itertools import count

from aiokafka.partitioner import murmur2

from operators.transports.log import BoundedLog, Headers, Record, Value
from serving.errors import BadInput

MAX_BYTES = 256 << 20
"""Bound of one partition's log; a consumer that is further behind loses the oldest records, counted in ``lost``."""

Partition = tuple[str, int]
"""Topic and partition number; equal to Faust's ``TP``."""


class LocalBroker:
    """The topics of one ``local://name``."""

    _by_name: dict[str, LocalBroker] = {}  # noqa: RUF012 - shared by intent: the name is the address
    _names = threading.Lock()

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        self.max_bytes = max_bytes
        self.lost: Counter[tuple[str, Partition]] = Counter()
        """Records that left a log before the group had read them, by (group, partition)."""
        self._topics: dict[str, list[BoundedLog]] = {}
        self._committed: dict[tuple[str, Partition], int] = {}
        self._members: set[str] = set()
        self._turn = count()
        self._lock = threading.RLock()
        self._waiters: dict[asyncio.Event, tuple[frozenset[str], asyncio.AbstractEventLoop]] = {}

    @classmethod
    def named(cls, name: str) -> LocalBroker:
        """The broker of ``local://name``, made on first use."""
        with cls._names:
            return cls._by_name.setdefault(name, cls())

    @classmethod
    def forget(cls, name: str) -> None:
        """Free what ``local://name`` holds; the next use of the name starts empty."""
        with cls._names:
            cls._by_name.pop(name, None)

    # -- topics ---------------------------------------------------------

    def create_topic(self, topic: str, partitions: int = 1, *, max_bytes: int | None = None) -> None:
        """Make a topic, each partition with a bound of its own or the broker's; one that exists stays as it is."""
        bound = self.max_bytes if max_bytes is None else max_bytes
        with self._lock:
            self._topics.setdefault(topic, [BoundedLog(bound) for _ in range(partitions)])

    def partitions_for_topic(self, topic: str) -> set[int]:
        """Partition numbers, empty for an unknown topic (the name that Faust's assignor calls)."""
        return set(range(len(self._topics.get(topic, ()))))

    def place(self, topic: str, key: bytes | None) -> int:
        """The partition of a key, the same as Kafka clients choose; without a key, in turns."""
        partitions = len(self._logs(topic))
        return next(self._turn) % partitions if key is None else (murmur2(key) & 0x7FFFFFFF) % partitions

    def start(self, partition: Partition) -> int:
        """Offset of the oldest record kept."""
        return self._log(partition).start

    def end(self, partition: Partition) -> int:
        """Offset that the next record will get."""
        return self._log(partition).end

    # -- records --------------------------------------------------------

    def append(
        self,
        topic: str,
        key: bytes | None,
        value: Value | None,
        headers: Headers = (),
        *,
        partition: int | None = None,
        timestamp_ms: int | None = None,
    ) -> tuple[int, Record]:
        """Add a record from any thread; returns its partition and the record with its offset."""
        now_ms = int(time.time() * 1000) if timestamp_ms is None else timestamp_ms
        with self._lock:
            number = self.place(topic, key) if partition is None else partition
            log = self._log((topic, number))
            record = Record(log.end, now_ms, key, value, headers)
            log.append(record)
            waiters = [(event, loop) for event, (topics, loop) in self._waiters.items() if topic in topics]
        for event, loop in waiters:
            _wake(event, loop)
        return number, record

    def read(self, group: str, partition: Partition, offset: int, limit: int) -> list[Record]:
        """Up to ``limit`` records from ``offset``; those that are gone already are counted in ``lost``."""
        with self._lock:
            log = self._log(partition)
            if offset < log.start:
                self.lost[group, partition] += log.start - offset
            return log.read(offset, limit)

    def trim(self, partition: Partition, offset: int) -> None:
        """Free the records before ``offset``, which nobody reads any more."""
        with self._lock:
            self._log(partition).trim(offset)

    # -- groups ---------------------------------------------------------

    def join(self, group: str) -> None:
        """Enter a group; raises ``BadInput`` where it has a member, since ``local://`` serves one per group."""
        with self._lock:
            if group in self._members:
                raise BadInput(f"group {group} has a consumer already: local:// serves one per group, use kafka://")
            self._members.add(group)

    def leave(self, group: str) -> None:
        """Leave a group; its offsets stay."""
        with self._lock:
            self._members.discard(group)

    def commit(self, group: str, partition: Partition, offset: int) -> None:
        """Remember where the group goes on."""
        self._committed[group, partition] = offset

    def committed(self, group: str, partition: Partition) -> int | None:
        """Where the group goes on; None where it never committed."""
        return self._committed.get((group, partition))

    # -- wake-ups -------------------------------------------------------

    def subscribe(self, event: asyncio.Event, topics: Iterable[str]) -> None:
        """Set ``event`` on the running loop after every append to one of the topics, until ``unsubscribe``."""
        with self._lock:
            self._waiters[event] = frozenset(topics), asyncio.get_running_loop()

    def unsubscribe(self, event: asyncio.Event) -> None:
        """End what ``subscribe`` began."""
        with self._lock:
            self._waiters.pop(event, None)

    def _logs(self, topic: str) -> list[BoundedLog]:
        if topic not in self._topics:
            self.create_topic(topic)
        return self._topics[topic]

    def _log(self, partition: Partition) -> BoundedLog:
        topic, number = partition
        return self._logs(topic)[number]


def _wake(event: asyncio.Event, loop: asyncio.AbstractEventLoop) -> None:
    """Set an event from any thread; a flag that is set already needs no second call."""
    if event.is_set():
        return
    try:
        running = asyncio.get_running_loop()
    except RuntimeError:
        running = None
    if running is loop:
        event.set()
    elif not loop.is_closed():
        loop.call_soon_threadsafe(event.set)
