"""The parent's end of a decoder process: start it, read from it with a time limit, kill it."""

from __future__ import annotations

import os
import select
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec
import numpy as np

import operators
from operators.capture import wire
from operators.frame import Image


class Silent(Exception):
    """The process said nothing within the time allowed."""


class Closed(Exception):
    """The process is gone; the message is the last line it wrote to stderr, unredacted."""


class Channel:
    """A running decoder process. Use as a context manager: on leaving it, the process is gone."""

    def __init__(self, job: wire.Job) -> None:
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115  closed in __exit__
        self._process = subprocess.Popen(
            # -P: what lies in the user's working directory must not stand in for our modules
            [sys.executable, "-P", "-m", "operators.capture.child"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._stderr,
            env={**os.environ, "PYTHONPATH": str(Path(operators.__path__[0]).parent)},
            process_group=0,  # Ctrl-C is for the parent, which ends us in good order
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._leash = self._process.stdin
        self._pipe = self._process.stdout.fileno()
        os.set_blocking(self._pipe, False)
        self._poll = select.poll()
        self._poll.register(self._pipe, select.POLLIN)
        try:
            self._leash.write(msgspec.json.encode(job) + b"\n")
            self._leash.flush()
        except BrokenPipeError:
            self.kill()  # the first receive() says why

    @property
    def pid(self) -> int:
        """Of the decoder process."""
        return self._process.pid

    def receive(self, timeout_s: float) -> tuple[wire.Message, Image | None]:
        """The next message, with the picture if it announces one. Raises ``Silent`` or ``Closed``."""
        deadline_s = time.monotonic() + timeout_s
        (length,) = wire.LENGTH.unpack(self._read(wire.LENGTH.size, deadline_s))
        if length > wire.MAX_MESSAGE_BYTES:
            raise Closed("the decoder process sent something else than messages")
        message = wire.decode(self._read(length, deadline_s))
        if not isinstance(message, wire.PictureFollows):
            return message, None
        image = np.empty((message.height, message.width, 3), np.uint8)
        self._fill(image.data.cast("B"), deadline_s)
        return message, image

    def kill(self) -> None:
        """End the process at once, from any thread; a ``receive`` under way raises ``Closed``."""
        self._process.kill()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()
        self._process.wait()
        with self._process:  # closes the pipes
            self._stderr.close()

    def _read(self, size: int, deadline_s: float) -> bytearray:
        data = bytearray(size)
        self._fill(memoryview(data), deadline_s)
        return data

    def _fill(self, view: memoryview, deadline_s: float) -> None:
        while view:
            if not self._poll.poll(max(0.0, deadline_s - time.monotonic()) * 1e3):
                raise Silent
            count = os.readv(self._pipe, [view])
            if count == 0:
                raise Closed(self._last_words())
            view = view[count:]

    def _last_words(self) -> str:
        code = self._process.wait()
        self._stderr.seek(max(0, self._stderr.seek(0, os.SEEK_END) - 2000))
        lines = self._stderr.read().decode(errors="replace").split("\n")
        said = next((line.strip() for line in reversed(lines) if line.strip()), "")
        return f"the decoder process died ({_cause(code)}) {said}".strip()


def _cause(code: int) -> str:
    return f"signal {-code}" if code < 0 else f"exit status {code}"
