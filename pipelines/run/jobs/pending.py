"""The chunks that wait at a worker, by the partitions of ``jobs.v1`` that it has. Pure."""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

from operators.wire.jobs import JobOrder, RecordingChunk

MOST_BYTES = 16 << 20
"""Bytes of messages that are read ahead, so that the end of a job is heard of while one of its chunks is in work."""
BESIDE_BYTES = 1024
"""A message counts as so many more, for an empty one takes memory too."""


class Lease(NamedTuple):
    """A chunk, and its place in the topic."""

    partition: int
    offset: int
    job: str
    chunk: RecordingChunk


class _ReadAhead(NamedTuple):
    offset: int
    order: JobOrder | None
    """None: a message that nobody can read."""
    size_bytes: int


class Pending:
    """Messages in the order of their partitions."""

    def __init__(self) -> None:
        self._waiting: dict[int, deque[_ReadAhead]] = {}
        self._ended: dict[tuple[int, str], int] = {}
        """The offset up to which chunks of a job are not wanted."""
        self._next: dict[int, int] = {}
        self._bytes = 0

    @property
    def full(self) -> bool:
        """Whether nothing more is to be read ahead."""
        return self._bytes >= MOST_BYTES

    def take(self, partition: int, offset: int, order: JobOrder | None, size_bytes: int) -> None:
        if order is not None and order.chunk is None:
            self._ended[partition, order.job] = offset
        self._waiting.setdefault(partition, deque()).append(_ReadAhead(offset, order, size_bytes + BESIDE_BYTES))
        self._bytes += size_bytes + BESIDE_BYTES

    def wanted(self, lease: Lease) -> bool:
        """Whether its job goes on, and its partition is still here."""
        waiting = self._waiting.get(lease.partition)
        here = waiting is not None and len(waiting) > 0 and waiting[0].offset == lease.offset
        return here and lease.offset > self._ended.get((lease.partition, lease.job), -1)

    def first(self, partition: int | None = None, last: int | None = None) -> Lease | None:
        """The chunk that is next, of this partition if it has one: its recording may go on.

        ``last``: a partition whose turn comes after all others.
        """
        order = sorted(self._waiting, key=lambda each: (each == last, each != partition, each))
        return next((found for each in order if (found := self._head(each)) is not None), None)

    def following(self, lease: Lease) -> Lease | None:
        """The chunk that goes on where a chunk at the head of its partition ends; None where another one comes next."""
        waiting = self._waiting.get(lease.partition)
        after = waiting[1] if waiting is not None and len(waiting) > 1 else None
        if after is None or after.order is None or after.order.chunk is None or after.order.job != lease.job:
            return None
        chunk = after.order.chunk
        same = all(getattr(chunk, each) == getattr(lease.chunk, each) for each in ("stream", "source", "query", "form"))
        return Lease(lease.partition, after.offset, lease.job, chunk) if same else None

    def done(self, lease: Lease) -> None:
        """A chunk is done, at the head of its partition."""
        waiting = self._waiting.get(lease.partition)
        if waiting and waiting[0].offset == lease.offset:
            self._pop(lease.partition)

    def passed(self) -> dict[int, int]:
        """By partition, to be acknowledged: the offset after the last message that is done."""
        return dict(self._next)

    def clear(self) -> None:
        """Forget all: others may have the partitions now."""
        self._waiting, self._ended, self._next, self._bytes = {}, {}, {}, 0

    def _head(self, partition: int) -> Lease | None:
        """The first chunk that is wanted; what stands before it goes."""
        waiting = self._waiting[partition]
        while waiting:
            offset, order, _ = waiting[0]
            if order is not None and order.chunk is not None:
                lease = Lease(partition, offset, order.job, order.chunk)
                if self.wanted(lease):
                    return lease
            self._pop(partition)
        return None

    def _pop(self, partition: int) -> None:
        done = self._waiting[partition].popleft()
        self._next[partition] = done.offset + 1
        self._bytes -= done.size_bytes
        if done.order is not None and self._ended.get((partition, done.order.job)) == done.offset:
            del self._ended[partition, done.order.job]  # what comes from now on was submitted after it
