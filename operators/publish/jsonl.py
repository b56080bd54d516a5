"""Results as JSON lines, in a file or on stdout."""

from __future__ import annotations

import sys
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

import msgspec

from operators.schema import to_json
from serving.errors import BadInput, SluiceError

STDOUT = "-"


class JsonLines:
    """Writes one message per line and leaves nothing in a buffer: a reader may follow, a kill loses nothing."""

    def __init__(self, target: str) -> None:
        """``target``: a path, replaced if it exists, or ``-`` for stdout; BadInput where it cannot be written."""
        self._target = "stdout" if target == STDOUT else target
        self._file = sys.stdout.buffer if target == STDOUT else _open(Path(target))
        self._owned = target != STDOUT

    def write(self, message: msgspec.Struct) -> None:
        """Append a message; raises SluiceError where the disk is full or gone, BrokenPipeError when the reader left."""
        try:
            self._file.write(to_json(message) + b"\n")
            self._file.flush()
        except BrokenPipeError:
            raise
        except OSError as error:
            raise SluiceError(f"cannot write results to {self._target}: {error.strerror}") from None

    def close(self) -> None:
        """Close the file; what could not be written has been told by ``write``."""
        if self._owned:
            with suppress(OSError):
                self._file.close()


def _open(path: Path) -> BinaryIO:
    try:
        return path.open("wb")
    except OSError as error:
        raise BadInput(f"cannot write results to {path}: {error.strerror}; choose another file") from None
