"""The log of one topic partition: offsets and retention. Pure: no clock, no lock, no asyncio."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

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


class BoundedLog:
    """Keeps the newest records whose bytes together stay within ``max_bytes``, and always the newest one.

    Records are numbered 0, 1, 2, … in the order of ``append`` and keep their numbers.
    """

    def __init__(self, max_bytes: int) -> None:
        self.max_bytes = max_bytes
        self.size_bytes = 0
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
        """Add a record; the oldest leave until the bound holds."""
        if record.offset != self._end:
            raise ValueError(f"record has offset {record.offset}, the log continues at {self._end}")
        self._records.append(record)
        self._end += 1
        self.size_bytes += record.size_bytes
        while self.size_bytes > self.max_bytes and len(self._records) > 1:
            self.size_bytes -= self._records.popleft().size_bytes

    def trim(self, offset: int) -> None:
        """Free the records before ``offset``."""
        while self.start < min(offset, self._end):
            self.size_bytes -= self._records.popleft().size_bytes

    def read(self, offset: int, limit: int) -> list[Record]:
        """The oldest ``limit`` records at or after ``offset``."""
        first = max(offset - self.start, 0)
        # By index, since a deque reaches both of its ends fast; a slice would walk there from the oldest record.
        return [self._records[index] for index in range(first, min(first + limit, len(self._records)))]
