"""The records of a batch (Kafka's format 2), each parsed for itself: a bad one leaves its neighbours readable. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

MAX_VARINT_BYTES = 10
Headers = tuple[tuple[str, bytes | None], ...]


@dataclass(frozen=True, slots=True)
class Record:
    """One record, or what could be read of it."""

    offset_delta: int
    timestamp_delta: int
    key: bytes | None
    value: bytes | None
    headers: Headers
    problem: str = ""
    """Why it cannot be read; empty where it can."""
    stands_for: int = 1
    """The number of records that this one stands for: the rest of a batch may be unreadable as a whole."""


def parse(payload: bytes, count: int, last_delta: int) -> Iterator[Record]:
    """The records in order; offsets rise and none lies beyond ``last_delta``. Raises nothing."""
    at, before = 0, -1
    for number in range(count):
        try:
            length, start = _varint(payload, at)
            body = _slice(payload, start, length)
        except ValueError as error:
            if before < last_delta:
                rest = f"{error}; the batch cannot be read from here on"
                yield Record(last_delta, 0, None, payload[at:], (), rest, max(1, count - number))
            return
        at = start + length
        record = _record(body, before + 1, last_delta)
        if record is None:
            return  # there are more records than offsets
        before = record.offset_delta
        yield record


def encode(record: Record) -> bytes:
    """A record as it stands in a batch."""
    parts = [b"\0", _zigzag(record.timestamp_delta), _zigzag(record.offset_delta)]
    parts += [_sized(record.key), _sized(record.value), _zigzag(len(record.headers))]
    for name, content in record.headers:
        parts += [_sized(name.encode()), _sized(content)]
    body = b"".join(parts)
    return _zigzag(len(body)) + body


def _record(body: bytes, least: int, last_delta: int) -> Record | None:
    """``least`` is the offset of a record that does not say a possible one; None where none is left."""
    if least > last_delta:
        return None
    reader = _Reader(body)
    try:
        reader.read()
    except ValueError as error:
        reader.problem = reader.problem or str(error)
    if not least <= reader.offset_delta <= last_delta:
        reader.problem = reader.problem or f"its offset {reader.offset_delta} lies outside its batch"
        reader.offset_delta = least
    return Record(
        reader.offset_delta,
        reader.timestamp_delta,
        reader.key,
        body if reader.problem and not reader.whole else reader.value,
        tuple(reader.headers),
        reader.problem,
    )


class _Reader:
    """Takes a record's fields from its bytes, as far as they can be read."""

    def __init__(self, body: bytes) -> None:
        self._body = body
        self._at = 1  # attributes, unused so far
        self.timestamp_delta = 0
        self.offset_delta = -1
        self.key: bytes | None = None
        self.value: bytes | None = None
        self.headers: list[tuple[str, bytes | None]] = []
        self.problem = ""
        self.whole = False
        """Key and value are there."""

    def read(self) -> None:
        """Raises ValueError where the fields are not what they should be."""
        self.timestamp_delta = self._number()
        self.offset_delta = self._number()
        self.key = self._bytes()
        self.value = self._bytes()
        self.whole = True
        count = self._number()
        if count < 0:
            raise ValueError("it claims a negative number of headers")
        for _ in range(count):
            self.headers.append((self._name(), self._bytes()))
        if self._at != len(self._body):
            raise ValueError("it is longer than its fields")

    def _name(self) -> str:
        name = self._bytes()
        if name is None:
            raise ValueError("a header has no name")
        try:
            return name.decode()
        except UnicodeDecodeError:
            self.problem = "the name of a header is not UTF-8"
            return name.decode(errors="backslashreplace")

    def _number(self) -> int:
        number, self._at = _varint(self._body, self._at)
        return number

    def _bytes(self) -> bytes | None:
        length = self._number()
        if length < 0:
            return None
        found = _slice(self._body, self._at, length)
        self._at += length
        return found


def _slice(data: bytes, start: int, length: int) -> bytes:
    if length < 0 or start + length > len(data):
        raise ValueError(f"a field of {length} bytes does not fit in")
    return data[start : start + length]


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """A zigzag number and where it ends."""
    value = 0
    for place in range(MAX_VARINT_BYTES):
        if at + place >= len(data):
            raise ValueError("a number is cut off")
        byte = data[at + place]
        value |= (byte & 0x7F) << 7 * place
        if byte < 0x80:
            return (value >> 1) ^ -(value & 1), at + place + 1
    raise ValueError("a number is too long")


def _sized(content: bytes | None) -> bytes:
    return _zigzag(-1) if content is None else _zigzag(len(content)) + content


def _zigzag(number: int) -> bytes:
    value = number << 1 if number >= 0 else ((-number) << 1) - 1
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)
