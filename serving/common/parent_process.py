"""The child's side of ``child_process``: messages on a pipe, bytes of any kind with their number before them. It takes
those of its parent, answers, and ends with it.
"""

from __future__ import annotations

import os
import struct
import threading
from queue import SimpleQueue
from typing import BinaryIO

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


class ParentProcess:
    """The process that started this one. Make it first: from then on, what a library prints goes to stderr."""

    def __init__(self, largest_bytes: int) -> None:
        """``largest_bytes``: no message that is sent may be larger, because the other side refuses it."""
        self._largest_bytes = largest_bytes
        self._pipe = _claimed_stdout()
        self._messages: SimpleQueue[bytes] = SimpleQueue()
        threading.Thread(target=self._listen, name="parent", daemon=True).start()

    def receive(self) -> bytes:
        """Wait for the next message; when there can be none any more, the process ends."""
        return self._messages.get()

    def send(self, body: bytes, data: memoryview | None = None) -> None:
        """Send a message, and what follows it."""
        try:
            self._pipe.write(framed(body, self._largest_bytes))
            if data is not None:
                self._pipe.write(data)
            self._pipe.flush()
        except BrokenPipeError:
            os._exit(0)

    def _listen(self) -> None:
        """Take messages until the other side closes the pipe or has ended, and end then, whatever is being done."""
        try:
            while head := _read(LENGTH.size):
                self._messages.put(_read(body_bytes(head, self._largest_bytes)))
        finally:
            os._exit(0)


def _read(size: int) -> bytes:
    """So many bytes of the input, or none where it has ended."""
    data = b""
    while len(data) < size:
        part = os.read(0, size - len(data))
        if not part:
            return b""
        data += part
    return data


def _claimed_stdout() -> BinaryIO:
    pipe = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    return pipe
