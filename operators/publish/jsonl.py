"""Results or events as JSON lines, in a file or on stdout."""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import sys
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from operators.wire.schema import Result, to_json
from serving.common.files import to_disk
from serving.common.untrusted import json_line
from serving.errors import BadInput, SluiceError

STDOUT = "-"


class JsonLines:
    """Writes one message per line, unbuffered: a reader may follow, and a kill loses nothing."""

    def __init__(self, target: str, what: str = "results", keep_bytes: int | None = None) -> None:
        """``target``: a path, or ``-`` for stdout; BadInput where it cannot be written, or another process writes.
        ``what``: the name of what is written, for errors; ``keep_bytes``: so many of a file, whose lock the caller
        holds, are kept."""
        self._target, self._what = "stdout" if target == STDOUT else target, what
        self._file = sys.stdout.buffer if target == STDOUT else _open(Path(target), what, keep_bytes)
        self._owned = target != STDOUT

    def write(self, result: Result) -> None:
        self.append(to_json(result))

    def append(self, encoded: bytes) -> None:
        """Append a message, which is ``encoded`` as JSON.

        Raises SluiceError if the disk is full or gone, BrokenPipeError if the reader is gone.
        """
        try:
            self._file.write(json_line(encoded).encode() + b"\n")
            self._file.flush()
        except BrokenPipeError:
            raise
        except OSError as error:
            raise SluiceError(f"cannot write {self._what} to {self._target}: {error.strerror}") from None

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


def _open(path: Path, what: str, keep_bytes: int | None) -> BinaryIO:
    try:
        file = os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o666), "wb")
        if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            if keep_bytes is None and _is_taken(file):
                file.close()
                raise BadInput(f"cannot write {what} to {path}: another process writes there; choose another file")
            file.truncate(keep_bytes or 0)
            file.seek(keep_bytes or 0)
        return file
    except OSError as error:
        raise BadInput(f"cannot write {what} to {path}: {error.strerror}; choose another file") from None


def _is_taken(file: BinaryIO) -> bool:
    """Whether another process holds the file's lock; it is ours from now on where not, and where there are locks."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        return error.errno == errno.EWOULDBLOCK
    return False
