"""Messages between our processes on a pipe: bytes of any kind with their number before them."""

from __future__ import annotations

import struct

from serving.errors import Malformed

LENGTH = struct.Struct("<I")


def framed(body: bytes, largest_bytes: int) -> bytes:
    """Encode a message for the pipe; ValueError where the other side would refuse it."""
    if len(body) > largest_bytes:
        raise ValueError(f"a message of {len(body)} bytes is larger than the {largest_bytes} that are allowed")
    return LENGTH.pack(len(body)) + body


def body_bytes(head: bytes | bytearray, largest_bytes: int) -> int:
    """The length of the message with this head; raises Malformed for more than is allowed."""
    (length,) = LENGTH.unpack(head)
    if length > largest_bytes:
        raise Malformed(f"a message of {length} bytes is announced, {largest_bytes} are allowed")
    return int(length)
