"""Replaces records that no client can read by notes that every client can read. Pure.

A client library raises at the first record that it cannot read, and then reads it again for ever: the partition stands
still. So every batch is read once before the library gets it. One that cannot be read is written anew, with a note in
place of each bad record, or of the whole batch where its records cannot be separated. Notes keep the offsets of what
they stand for. They have the header ``UNREADABLE`` with the reason, and of the record what could be read.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from crc32c import crc32c

from operators.transports.batch_records import Record, encode, parse
from operators.transports.inflate import inflate

UNREADABLE = "sluice.unreadable"
"""The header of a note; its value is the reason."""
MAX_SET_BYTES = 32 << 20
"""Bound of the decompressed batches of one partition in one answer; a single larger batch is unreadable."""
MOST_SINCE_END = 100_000
"""The most records behind the end that a broker gives: it reads the end first, and the records afterwards."""
KEPT_BYTES = 256 << 10
"""Bytes of an unreadable batch or record that go into its note."""

HEADER = struct.Struct(">qiibIhiqqqhii")
PREFIX_BYTES = 12
"""Base offset and length, which the length does not count."""
CRC_AT, CRC_FROM = 17, 21
MAGIC_AT, MAGIC = 16, 2
CODEC, CONTROL = 0x07, 0x20

Offsets = Callable[[bytes], Iterable[int]]
"""Reads a batch to its end as the client will: the offsets of its records. Raises anything where the client would."""


@dataclass(frozen=True, slots=True)
class Unreadable:
    """Records of one partition that cannot be read."""

    offset: int
    """The offset of the last of them."""
    records: int
    reason: str


def unreadable(headers: Iterable[tuple[str, bytes | None]]) -> str | None:
    """Return why a message is only a note of an unreadable record; None for any other message."""
    for name, reason in headers:
        if name == UNREADABLE:
            return (reason or b"").decode(errors="backslashreplace")
    return None


def offsets(batch: bytes) -> Iterator[int]:
    """As aiokafka reads a batch."""
    from aiokafka.record.memory_records import MemoryRecords  # who reads by kafka-python need not import it

    parsed = MemoryRecords(batch).next_batch()
    assert parsed is not None
    if not parsed.validate_crc():
        raise ValueError("its checksum is wrong")
    for record in parsed:
        yield record.offset


def readable(data: bytes, fetched: int, end: int, read: Offsets = offsets) -> tuple[bytes, list[Unreadable]]:
    """The same set, or one that can be read, and what could not.

    ``fetched`` is the offset that was asked for, ``end`` the partition's: no note lies outside.
    """
    kept: list[bytes] = []
    found: list[Unreadable] = []
    room, changed = MAX_SET_BYTES, False
    batches = list(_batches(data))
    for number, batch in enumerate(batches):
        behind = int.from_bytes(batches[number + 1][:8], "big", signed=True) if batch is not batches[-1] else end
        limit = behind if fetched < behind < end else end
        try:
            new, bad = _mended(batch, read, room, limit if limit < end else end + MOST_SINCE_END)
        except _NoRoom:
            if kept:  # they come again with the next fetch
                return b"".join(kept), found
            new, bad = _note(batch, f"it becomes larger than {MAX_SET_BYTES} bytes", fetched, limit)
        except Exception as error:
            new, bad = _note(batch, str(error) or type(error).__name__, fetched, limit)
        fetched = max(fetched, _behind(new))
        if new is not batch:
            changed = True
            room -= len(new)
        kept.append(new)
        found += bad
    return (b"".join(kept) if changed else data), found


class _NoRoom(Exception):
    """A batch becomes too large."""


def _batches(data: bytes) -> Iterator[bytes]:
    """Whole batches; one that was cut off at the end comes again, but the first never is: it claims a wrong length."""
    at = 0
    while len(data) - at >= PREFIX_BYTES:
        length = int.from_bytes(data[at + 8 : at + 12], "big", signed=True)
        end = at + PREFIX_BYTES + length
        if length < HEADER.size - PREFIX_BYTES or end > len(data):
            if at == 0 or length < HEADER.size - PREFIX_BYTES:
                yield data[at : at + KEPT_BYTES]
            return
        yield data[at:end]
        at = end
    if at == 0 and data:
        yield data


def _mended(batch: bytes, read: Offsets, room: int, end: int) -> tuple[bytes, list[Unreadable]]:
    """The batch as it is, or written anew; raises where its records cannot be separated."""
    if len(batch) < HEADER.size:
        raise ValueError("it is shorter than a batch can be")
    if len(batch) != PREFIX_BYTES + int.from_bytes(batch[8:12], "big", signed=True):
        raise ValueError("it claims a wrong length")
    if batch[MAGIC_AT] != MAGIC:
        list(read(batch))
        return batch, []
    head = HEADER.unpack_from(batch)
    attributes, last_delta = head[5], head[6]
    if head[4] != crc32c(batch[CRC_FROM:]):
        raise ValueError("its checksum is wrong")
    if last_delta < 0 or head[0] + last_delta >= end:
        raise ValueError("it claims offsets that the partition does not have")
    if attributes & CONTROL:
        return batch, []
    if not attributes & CODEC and _orderly(batch, read, head[0], last_delta):
        return batch, []
    try:
        payload = inflate(attributes & CODEC, batch[HEADER.size :], room)
    except OverflowError:
        raise _NoRoom from None
    records = list(parse(payload, head[12], last_delta))
    new = _batch(head, [_noted(record) if record.problem else record for record in records])
    if not _orderly(new, read, head[0], last_delta):
        raise ValueError("its records have no structure")
    bad = [Unreadable(head[0] + item.offset_delta, item.stands_for, item.problem) for item in records if item.problem]
    return new, bad


def _orderly(batch: bytes, read: Offsets, base: int, last_delta: int) -> bool:
    """Whether the client reads it to the end and finds offsets that rise within the bounds of the batch."""
    before = base - 1
    try:
        for offset in read(batch):
            if not before < offset <= base + last_delta:
                return False
            before = offset
    except Exception:
        return False  # what is wrong is found out record by record
    return True


def _note(batch: bytes, reason: str, fetched: int, end: int) -> tuple[bytes, list[Unreadable]]:
    """A batch of one record in place of one whose header cannot be trusted either."""
    offset = max(fetched, min(_behind(batch), end) - 1)
    note = _noted(Record(0, 0, None, batch, (), reason))
    head = (offset, 0, -1, MAGIC, 0, 0, 0, -1, -1, -1, -1, -1, 1)
    return _batch(head, [note]), [Unreadable(offset, offset - fetched + 1, reason)]


def _behind(batch: bytes) -> int:
    """The offset behind a batch; 0 where its header contradicts itself."""
    if len(batch) < HEADER.size or batch[MAGIC_AT] != MAGIC:
        return 0
    head = HEADER.unpack_from(batch)
    base, last_delta, count = head[0], head[6], head[12]
    return base + last_delta + 1 if last_delta >= 0 and count <= last_delta + 1 else 0


def _noted(record: Record) -> Record:
    headers = (*record.headers, (UNREADABLE, record.problem.encode(errors="backslashreplace")))
    value = None if record.value is None else record.value[:KEPT_BYTES]
    return Record(record.offset_delta, record.timestamp_delta, record.key, value, headers)


def _batch(head: tuple[int, ...], records: Iterable[Record]) -> bytes:
    """An uncompressed batch with the given header."""
    parts = [encode(record) for record in records]
    payload = b"".join(parts)
    fields = list(head)
    fields[1] = HEADER.size - PREFIX_BYTES + len(payload)
    fields[4], fields[5], fields[12] = 0, head[5] & ~CODEC, len(parts)
    packed = bytearray(HEADER.pack(*fields) + payload)
    packed[CRC_AT:CRC_FROM] = crc32c(bytes(packed[CRC_FROM:])).to_bytes(4, "big")
    return bytes(packed)
