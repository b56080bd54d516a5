"""Results or events as JSON lines, in a file or on stdout."""

from __future__ import annotations

import sys
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from operators.wire.schema import Result, to_json
from serving.common.untrusted import json_line
from serving.errors import BadInput, SluiceError

STDOUT = "-"


class JsonLines:
    """Writes one message per line, unbuffered: a reader may follow, and a kill loses nothing."""

    def __init__(self, target: str, what: str = "results") -> None:
        """``target``: a path, replaced if it exists, or ``-`` for stdout; BadInput where it cannot be written.
        ``what``: the name of the messages in errors."""
        self._target, self._what = "stdout" if target == STDOUT else target, what
        self._file = sys.stdout.buffer if target == STDOUT else _open(Path(target), what)
        self._owned = target != STDOUT

    def write(self, result: Result) -> None:
        """Append a result; raises as ``append`` does."""
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

    def close(self) -> None:
        """Close the file; ``write`` has raised for whatever could not be written."""
        if self._owned:
            with suppress(OSError):
                self._file.close()


def _open(path: Path, what: str) -> BinaryIO:
    try:
        return path.open("wb")
    except OSError as error:
        raise BadInput(f"cannot write {what} to {path}: {error.strerror}; choose another file") from None
