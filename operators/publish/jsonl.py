"""Results or events as JSON lines, in a file, in a pipe or on stdout."""

from __future__ import annotations

import asyncio
import logging
import os
import select
import stat
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from operators.wire.schema import Result, to_json
from serving.common.files import not_removed, open_alone, to_disk
from serving.common.untrusted import json_line
from serving.errors import SluiceError

log = logging.getLogger(__name__)

STDOUT = "-"
PATIENCE_S = 10.0
"""A reader that takes nothing for so long is told of, once."""


class JsonLines:
    """Writes one message per line, unbuffered: a reader may follow, and a kill loses nothing."""

    def __init__(
        self, target: str, what: str = "results", keep: Callable[[], int] | None = None, patient: bool = False
    ) -> None:
        """``target``: a path, or ``-`` for stdout; BadInput where it cannot be written, or another process writes.
        ``what``: the name of what is written, for errors; ``keep``: see ``open_alone``; ``patient``: the reader
        of a pipe is waited for in ``taken`` alone."""
        self._target, self._what = "stdout" if target == STDOUT else target, what
        stdout = getattr(sys.stdout.buffer, "raw", sys.stdout.buffer)  # a buffer keeps what a full disk does not take
        self._file: Any = stdout if target == STDOUT else open_alone(Path(target), what, keep)
        self._owned = target != STDOUT
        self._pipe = _pipe(self._file) if patient else None
        self._waiting = bytearray()

    def write(self, result: Result) -> None:
        self.append(to_json(result))

    def append(self, encoded: bytes) -> None:
        """Append a message, which is ``encoded`` as JSON.

        Raises SluiceError if the disk is full or gone, or the reader of a pipe; BrokenPipeError if that of stdout is.
        """
        line = json_line(encoded).encode() + b"\n"
        if self._pipe is None:
            self._put(line)
        else:
            self._waiting += line
            self._fill(self._pipe)

    async def taken(self) -> None:
        """Return once the reader of a pipe has taken what was appended; raises what ``append`` does."""
        while self._pipe and self._waiting:
            await self._room()
            self._fill(self._pipe)

    def _fill(self, pipe: select.poll) -> None:
        """Put what there is room for: mostly all of it, at once."""
        while self._waiting and pipe.poll(0):
            part = self._waiting[: select.PIPE_BUF]  # for which there is room
            del self._waiting[: select.PIPE_BUF]
            self._put(part)

    @property
    def waits(self) -> str | None:
        """Who is waited for; None: nobody."""
        return f"the reader of {self._what} at {self._target}" if self._waiting else None

    def _put(self, data: bytes | bytearray) -> None:
        left = memoryview(data)
        try:
            if self._owned:
                not_removed(self._file, Path(self._target))
            while left:
                taken = self._file.write(left)
                if taken is None:  # another process has set our stdout not to wait
                    select.select((), (self._file,), ())
                else:
                    left = left[taken:]
            self._file.flush()
        except OSError as error:
            if isinstance(error, BrokenPipeError) and (not self._owned or self._target.startswith("/dev/")):
                raise  # who has started us reads no more
            with suppress(OSError):  # the file ends with a whole line, a pipe as it may
                self._file.seek(len(left) - len(data), os.SEEK_CUR)
                self._file.truncate()
            raise SluiceError(f"cannot write {self._what} to {self._target}: {error.strerror}") from None

    async def _room(self) -> None:
        loop, free = asyncio.get_running_loop(), asyncio.Event()
        loop.add_writer(self._file.fileno(), free.set)
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(PATIENCE_S):
                    await free.wait()
            if not free.is_set():
                log.warning("%s takes nothing: the run waits for it", self.waits)
                await free.wait()
                log.info("%s takes them again", self.waits)
        finally:
            loop.remove_writer(self._file.fileno())

    def settle(self) -> None:
        """Have what is written outlast a crash of the machine; raises SluiceError where a disk takes it no longer."""
        if not self._owned:
            return
        try:
            to_disk(self._file.fileno(), Path(self._target).parent)
        except OSError as error:
            raise SluiceError(f"cannot write {self._what} to {self._target}: {error.strerror}") from None

    def close(self) -> None:
        """Settle and close the file; ``append`` has raised for whatever could not be written."""
        if not self._owned:
            return
        try:
            self.settle()
        finally:
            with suppress(OSError):
                self._file.close()


def _pipe(file: Any) -> select.poll | None:
    """Says whether there is room in a pipe; None: it is none."""
    with suppress(OSError):
        if stat.S_ISFIFO(os.fstat(file.fileno()).st_mode):
            found = select.poll()
            found.register(file.fileno(), select.POLLOUT)
            return found
    return None
