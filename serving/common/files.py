"""Writes files that are whole or not there: a reader never sees half a file, even if the writer was killed."""

from __future__ import annotations

import os
import stat
import tempfile
from contextlib import suppress
from pathlib import Path

from serving.errors import BadInput


def write(path: Path, content: bytes) -> None:
    """Write a file in one step, with its folders; raises BadInput where the place cannot be written to."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor, fresh = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(content)
            os.replace(fresh, path)
        except BaseException:
            Path(fresh).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise BadInput(f"{path}: cannot be written ({error.strerror or error})") from error


def to_disk(file: int, folder: Path) -> None:
    """Have an open file, and its name in its folder, outlast a crash of the machine; a pipe or device is left alone.

    Raises OSError where the disk does not take the file: some say only now that they are full.
    """
    if not stat.S_ISREG(os.fstat(file).st_mode):
        return
    os.fsync(file)
    with suppress(OSError):  # not all file systems do this for folders
        opened = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(opened)
        finally:
            os.close(opened)
