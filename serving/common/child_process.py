"""Starts, asks and kills a child process of ours; the child's side is ``ParentProcess``. Between them go messages on a
pipe, bytes of any kind with their number before them.

The child runs one of our modules, found where ours are and never in the user's working directory. It gets no secrets
from the environment and no Ctrl-C, and ends with this process, because its input closes then.
"""

from __future__ import annotations

import os
import select
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from typing import BinaryIO

import serving
from serving.common import template
from serving.common.redaction import without_secrets
from serving.common.template import Fork
from serving.errors import Malformed

MAX_SENT_BYTES = 60_000
"""A pipe takes so much at once: sending never waits for a process that hangs."""
LAST_WORDS_BYTES = 2000


class Silent(Exception):
    """The process said nothing within the time allowed."""


class Closed(Exception):
    """The process is gone; the message says how and quotes the last line it wrote to stderr, unredacted."""


class ChildProcess:
    """A running process. Use as a context manager, or ``close`` it: afterwards the process is gone."""

    def __init__(self, module: str, name: str, *, forked: bool = False) -> None:
        """``module``: ours, with dots; ``name``: for messages, as "the decoder process". Raises OSError.

        ``forked``: it is one of many, and a fork of their template. The module then has ``main``.
        """
        self._name = name
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115  closed in close()
        their_input, input_ = os.pipe()
        output, their_output = os.pipe()
        self._input, self._output = open(input_, "wb", 0), open(output, "rb", 0)  # noqa: SIM115  the same
        files = their_input, their_output, self._stderr.fileno()
        try:
            self._process = Fork(module, files, partial(_template, module)) if forked else _launched(files, module)
        except BaseException:
            self._release()
            raise
        finally:
            os.close(their_input)
            os.close(their_output)
        self._poll, self._room = select.poll(), select.poll()
        for each, poll, event in ((output, self._poll, select.POLLIN), (input_, self._room, select.POLLOUT)):
            os.set_blocking(each, False)
            poll.register(each, event)

    @property
    def pid(self) -> int:
        return self._process.pid

    def send(self, body: bytes, timeout_s: float = 0.0, largest_bytes: int = MAX_SENT_BYTES) -> None:
        """Send a message; where the process is gone, the next ``receive`` says why.

        One larger than ``MAX_SENT_BYTES`` waits for the process to read it: ``Silent`` where it does not in the time.
        """
        left, deadline_s = memoryview(framed(body, largest_bytes)), time.monotonic() + timeout_s
        try:
            while left:
                if not self._room.poll(max(0.0, deadline_s - time.monotonic()) * 1000):
                    raise Silent
                left = left[os.write(self._input.fileno(), left) :]
        except BrokenPipeError:
            self.kill()

    def receive(self, timeout_s: float, largest_bytes: int) -> bytearray:
        """The next message; raises ``Silent`` or ``Closed``."""
        deadline_s = time.monotonic() + timeout_s
        head = bytearray(LENGTH.size)
        self._fill(memoryview(head), deadline_s)
        try:
            body = bytearray(body_bytes(head, largest_bytes))
        except Malformed as error:
            raise Closed(f"{self._name} sent something else than messages: {error}") from None
        self._fill(memoryview(body), deadline_s)
        return body

    def receive_into(self, view: memoryview, timeout_s: float) -> None:
        """Fill the view with what follows the last message; raises ``Silent`` or ``Closed``."""
        self._fill(view, time.monotonic() + timeout_s)

    def kill(self) -> None:
        """End the process at once, from any thread; a ``receive`` under way raises ``Closed``."""
        self._process.kill()

    def close(self) -> None:
        """Kill the process and wait for its end; nobody may be receiving."""
        self.kill()
        self._process.wait()
        self._release()

    def _release(self) -> None:
        for each in (self._input, self._output, self._stderr):
            each.close()

    def _fill(self, view: memoryview, deadline_s: float) -> None:
        while view:
            if not self._poll.poll(max(0.0, deadline_s - time.monotonic()) * 1e3):
                raise Silent
            count = os.readv(self._output.fileno(), [view])
            if count == 0:
                raise Closed(self._last_words())
            view = view[count:]

    def _last_words(self) -> str:
        code = self._process.wait()
        self._stderr.seek(max(0, self._stderr.seek(0, os.SEEK_END) - LAST_WORDS_BYTES))
        lines = self._stderr.read().decode(errors="replace").split("\n")
        said = next((line.strip() for line in reversed(lines) if line.strip()), "")
        cause = f"signal {-code}" if code < 0 else f"exit status {code}"
        return f"{self._name} died ({cause}) {said}".strip()


def _launched(files: tuple[int, int, int], *words: str, **variables: str) -> subprocess.Popen[bytes]:
    stdin, stdout, stderr = files
    return subprocess.Popen(  # noqa: S603  this interpreter and a module of ours
        [sys.executable, "-P", "-m", *words],
        stdin=stdin,
        stdout=stdout,
        stderr=stderr,
        bufsize=0,
        env=environment(os.environ) | variables,
        process_group=0,  # Ctrl-C is for us, who end it in good order
    )


def _template(module: str, channel: int) -> subprocess.Popen[bytes]:
    files = channel, subprocess.DEVNULL, subprocess.DEVNULL
    return _launched(files, template.__name__, module, OPENBLAS_NUM_THREADS="1")  # more are there once it is imported


def environment(ours: Mapping[str, str]) -> dict[str, str]:
    """Our environment without secrets; the folder of our own packages comes first on the path."""
    root = str(Path(serving.__path__[0]).resolve().parent)
    others = [part for part in ours.get("PYTHONPATH", "").split(os.pathsep) if part]
    return {**without_secrets(ours), "PYTHONPATH": os.pathsep.join([root, *others])}


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
