"""Pure logs of one topic partition: offsets, retention, compaction. No clock, no lock, no asyncio.

A ``BoundedLog`` keeps the newest records within a bound of bytes; a ``CompactedLog`` keeps the newest record of each
key. Both number records 0, 1, 2, … in the order of ``append`` and never renumber them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

Headers = tuple[tuple[str, bytes | None], ...]
Value = bytes | memoryview
"""A view is not copied: whoever appends one leaves the memory behind it as it is."""


@dataclass(frozen=True, slots=True)
class Record:
    """One message of a partition; ``timestamp_ms`` since the epoch."""

    offset: int
    timestamp_ms: int
    key: bytes | None
    value: Value | None
    headers: Headers = ()

    @property
    def size_bytes(self) -> int:
        """What the record counts against a log's bound."""
        payload = len(self.key or b"") + len(self.value or b"")
        return payload + sum(len(name) + len(value or b"") for name, value in self.headers)


class Log(Protocol):
    """The records of one partition, in the order of their offsets."""

    dropped: int
    """Records removed to keep the bound, whether or not anybody had read them."""

    @property
    def start(self) -> int:
        """Offset of the oldest record kept, or ``end`` where there is none."""
        ...

    @property
    def end(self) -> int:
        """Offset that the next record will get."""
        ...

    def append(self, record: Record) -> None:
        """Add a record whose offset is ``end``."""
        ...

    def read(self, offset: int, limit: int) -> list[Record]:
        """The oldest ``limit`` records at or after ``offset``."""
        ...


class BoundedLog:
    """Keeps the newest records whose bytes together stay within ``max_bytes``, and always the newest one."""

    def __init__(self, max_bytes: int) -> None:
        self.max_bytes = max_bytes
        self.size_bytes = 0
        self.dropped = 0
        self._records: deque[Record] = deque()
        self._end = 0

    @property
    def start(self) -> int:
        """Offset of the oldest record kept."""
        return self._end - len(self._records)

    @property
    def end(self) -> int:
        """Offset that the next record will get."""
        return self._end

    def append(self, record: Record) -> None:
        """Add a record; the oldest leave until the bound holds, each counted in ``dropped``."""
        _check_offset(record, self._end)
        self._records.append(record)
        self._end += 1
        self.size_bytes += record.size_bytes
        while self.size_bytes > self.max_bytes and len(self._records) > 1:
            self.size_bytes -= self._records.popleft().size_bytes
            self.dropped += 1

    def trim(self, offset: int) -> None:
        """Free the records before ``offset``."""
        while self.start < min(offset, self._end):
            self.size_bytes -= self._records.popleft().size_bytes

    def read(self, offset: int, limit: int) -> list[Record]:
        """The oldest ``limit`` records at or after ``offset``."""
        first = max(offset - self.start, 0)
        # By index, since a deque reaches both of its ends fast; a slice would walk there from the oldest record.
        return [self._records[index] for index in range(first, min(first + limit, len(self._records)))]


class CompactedLog:
    """Keeps the newest record of each key, tombstones (``value`` None) included, so that late readers learn of them."""

    def __init__(self) -> None:
        self.dropped = 0
        self._latest: dict[bytes, Record] = {}
        self._end = 0

    @property
    def start(self) -> int:
        """Offset of the oldest record kept."""
        return next((record.offset for record in self._latest.values()), self._end)

    @property
    def end(self) -> int:
        """Offset that the next record will get."""
        return self._end

    def append(self, record: Record) -> None:
        """Add a record in place of an older one of its key; raises ``ValueError`` where it has no key."""
        _check_offset(record, self._end)
        if record.key is None:
            raise ValueError("a compacted topic takes no record without a key")
        self._latest.pop(record.key, None)  # so that the dictionary's order stays the order of offsets
        self._latest[record.key] = record
        self._end += 1

    def read(self, offset: int, limit: int) -> list[Record]:
        """The oldest ``limit`` records at or after ``offset``."""
        newest_first = list(self._from(offset))
        return newest_first[::-1][:limit]

    def _from(self, offset: int) -> Iterator[Record]:
        """Backwards, so that a reader near the end pays for what is new and not for every key."""
        for record in reversed(self._latest.values()):
            if record.offset < offset:
                return
            yield record


def _check_offset(record: Record, end: int) -> None:
    if record.offset != end:
        raise ValueError(f"record has offset {record.offset}, the log continues at {end}")
