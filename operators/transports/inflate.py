"""Decompresses a batch to no more than a bound. Pure."""

from __future__ import annotations

import zlib

NONE, GZIP = 0, 1
NAMES = {2: "snappy", 3: "lz4", 4: "zstd"}
GZIP_FRAME = 31
"""zlib's word for a window of 32 KB in a gzip frame."""


MOST_MEMBERS = 64
"""The most members of a gzip stream. Senders write one, and each further one costs a copy of the rest."""


class Undecodable(ValueError):
    """Data that cannot be decompressed here."""


def inflate(codec: int, data: bytes, max_bytes: int) -> bytes:
    """The plain data of a batch; raises ``Undecodable``, and ``OverflowError`` where it is more than ``max_bytes``."""
    if codec == NONE:
        return data
    if codec != GZIP:
        name = NAMES.get(codec, f"number {codec}")
        raise Undecodable(f"compression {name} is not supported: let the sender use gzip or none")
    return _gunzip(data, max_bytes)


def _gunzip(data: bytes, max_bytes: int) -> bytes:
    """All members of a gzip stream."""
    parts: list[bytes] = []
    room = max_bytes
    while data:
        member = zlib.decompressobj(GZIP_FRAME)
        try:
            part = member.decompress(data, room + 1)
        except zlib.error as error:
            raise Undecodable(f"it is no gzip: {error}") from None
        if len(part) > room:
            raise OverflowError
        if not member.eof:
            raise Undecodable("its gzip ends early")
        parts.append(part)
        if len(parts) > MOST_MEMBERS:
            raise Undecodable(f"its gzip has more than {MOST_MEMBERS} members")
        room -= len(part)
        data = member.unused_data
    return b"".join(parts)
