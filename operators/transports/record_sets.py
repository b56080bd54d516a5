"""Replaces batches that no client can read by notes that every client can read. Pure.

A client library raises at the first record that it cannot read, and then reads it again for ever: the partition stands
still. So every batch is read once before the library gets it. In place of one that cannot be read the library gets a
note: a batch with one record, at the last offset of what it stands for, so that reading goes on behind it. The record
has the header ``UNREADABLE`` with the reason, and the beginning of the batch as its value.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

UNREADABLE = "sluice.unreadable"
"""The header of a note; its value is the reason."""
MAX_SET_BYTES = 32 << 20
"""Bound of the decompressed batches of one partition in one answer; a single larger batch is unreadable."""
MOST_SINCE_END = 100_000
"""The most records behind the end that a broker gives: it reads the end first, and the records afterwards."""
KEPT_BYTES = 256 << 10
"""Bytes of an unreadable batch that go into its note."""

PREFIX_BYTES = 12
"""Base offset and length, which the length does not count."""
HEADER_BYTES = 61
MAGIC_AT, MAGIC = 16, 2
NONE, GZIP = 0, 1
GZIP_FRAME = 31
"""zlib's word for a window of 32 KB in a gzip frame."""


@dataclass(frozen=True, slots=True)
class Format:
    """A client library's reader and writer of batches; all libraries give them alike."""

    batches: Callable[[bytes], Any]
    """``MemoryRecords``."""
    builder: Callable[..., Any]
    """``DefaultRecordBatchBuilder``."""


def unreadable(headers: Iterable[tuple[str, bytes | None]]) -> str | None:
    """Return why a message is only a note of a batch that cannot be read; None for any other message."""
    for name, reason in headers:
        if name == UNREADABLE:
            return (reason or b"").decode(errors="backslashreplace")
    return None


def readable(data: bytes, fetched: int, end: int, library: Format) -> tuple[bytes, list[str]]:
    """The same set, or one that can be read, and what could not be.

    ``fetched`` is the offset that was asked for, ``end`` the partition's: no note lies outside.
    """
    kept: list[bytes] = []
    problems: list[str] = []
    room = MAX_SET_BYTES
    batches = list(_batches(data))
    for number, batch in enumerate(batches):
        behind = _base(batches[number + 1]) if number + 1 < len(batches) else end
        limit = behind if fetched < behind < end else end
        try:
            room -= _plain_bytes(batch, library, limit if limit < end else end + MOST_SINCE_END)
        except Exception as error:
            last = limit - 1 if limit < end else max(fetched, min(_behind(batch), end) - 1)
            problems.append(f"offsets {fetched} to {last} cannot be read: {str(error) or type(error).__name__}")
            batch = _note(batch, last, problems[-1], library)
        if kept and room < 0:
            break  # the rest comes again with the next fetch
        fetched = max(fetched, _behind(batch))
        kept.append(batch)
    return (b"".join(kept) if problems or room < 0 else data), problems


def _batches(data: bytes) -> Iterator[bytes]:
    """Whole batches; one that was cut off at the end comes again, but the first never is: it claims a wrong length."""
    at = 0
    while len(data) - at >= PREFIX_BYTES:
        end = at + PREFIX_BYTES + int.from_bytes(data[at + 8 : at + 12], "big", signed=True)
        if end - at < HEADER_BYTES or (at == 0 and end > len(data)):
            yield data[at : at + KEPT_BYTES]
            return
        if end > len(data):
            return
        yield data[at:end]
        at = end
    if at == 0 and data:
        yield data


def _plain_bytes(batch: bytes, library: Format, end: int) -> int:
    """The size of a compressed batch once it is decompressed. Raises where the client could not read it to its end."""
    if len(batch) < HEADER_BYTES or len(batch) != PREFIX_BYTES + int.from_bytes(batch[8:12], "big", signed=True):
        raise ValueError("the batch claims a wrong length")
    if batch[MAGIC_AT] != MAGIC:
        raise ValueError("the batch is of an unknown format")
    parsed = library.batches(batch).next_batch()
    if not parsed.validate_crc():
        raise ValueError("the checksum of the batch is wrong")
    if not parsed.base_offset < parsed.next_offset <= end:
        raise ValueError("the batch claims offsets that the partition does not have")
    if parsed.is_control_batch:
        return 0
    size = _inflated(parsed.compression_type, batch[HEADER_BYTES:])
    before = parsed.base_offset - 1
    for record in parsed:
        if not before < record.offset < parsed.next_offset:
            raise ValueError("the offsets of the batch are out of order")
        before = record.offset
    return size


def _inflated(codec: int, data: bytes) -> int:
    """Bytes of decompressed data; more than the bound are never made."""
    if codec == NONE:
        return 0
    if codec != GZIP:
        raise ValueError("its compression is not supported: let the sender use gzip or none")
    member = zlib.decompressobj(GZIP_FRAME)
    size = len(member.decompress(data, MAX_SET_BYTES + 1))
    if size > MAX_SET_BYTES:
        raise ValueError(f"the batch becomes larger than {MAX_SET_BYTES} bytes")
    if not member.eof or member.unused_data:
        raise ValueError("the gzip of the batch ends elsewhere than the batch")
    return size


def _note(batch: bytes, offset: int, reason: str, library: Format) -> bytes:
    builder = library.builder(MAGIC, NONE, False, -1, -1, -1, 0)
    builder.append(0, -1, None, batch[:KEPT_BYTES], [(UNREADABLE, reason.encode(errors="backslashreplace"))])
    return offset.to_bytes(8, "big") + bytes(builder.build())[8:]


def _base(batch: bytes) -> int:
    return int.from_bytes(batch[:8], "big", signed=True)


def _behind(batch: bytes) -> int:
    """The offset behind a batch, as its header has it; 0 where the batch has no header."""
    if len(batch) < HEADER_BYTES or batch[MAGIC_AT] != MAGIC:
        return 0
    return _base(batch) + int.from_bytes(batch[23:27], "big", signed=True) + 1
