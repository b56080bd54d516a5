"""Results or events as JSON lines, in a file or on stdout."""

from __future__ import annotations

import sys
from contextlib import suppress
from pathlib import Path

from operators.wire.schema import Result, to_json
from serving.common.files import open_alone, to_disk
from serving.common.untrusted import json_line
from serving.errors import SluiceError

STDOUT = "-"


class JsonLines:
    """Writes one message per line, unbuffered: a reader may follow, and a kill loses nothing."""

    def __init__(self, target: str, what: str = "results", keep_bytes: int | None = None) -> None:
        """``target``: a path, or ``-`` for stdout; BadInput where it cannot be written, or another process writes.
        ``what``: the name of what is written, for errors; ``keep_bytes``: so many of a file, whose lock the caller
        holds, are kept."""
        self._target, self._what = "stdout" if target == STDOUT else target, what
        self._file = sys.stdout.buffer if target == STDOUT else open_alone(Path(target), what, keep_bytes)
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
