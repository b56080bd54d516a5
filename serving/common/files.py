"""Writes files that are whole or not there: a reader never sees half a file, even if the writer was killed;
opens those that one process alone writes."""

from __future__ import annotations

import errno
import fcntl
import os
import stat
from collections.abc import Callable
from contextlib import suppress
from io import FileIO
from pathlib import Path
from uuid import uuid4

from serving.errors import BadInput


def write(path: Path, content: bytes, mode: int = 0o600) -> None:
    """Write a file in one step, with its folders; raises BadInput where the place cannot be written to.

    ``mode``: who may read it, where the process's umask lets them; 0o600: the user alone, as befits pictures of people.
    """
    fresh = path.with_name(f".{uuid4().hex}")  # as long as any name may be
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with open(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode), "wb") as file:
                file.write(content)
            os.replace(fresh, path)
        except BaseException:
            fresh.unlink(missing_ok=True)
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


class PlaceClosed(BadInput):
    """Nothing can be written there at present: another process writes, or the system refuses it."""


def open_alone(path: Path, what: str, keep: Callable[[], int] | None = None) -> FileIO:
    """Open a file to write, with its lock; PlaceClosed where it cannot be written, or another process writes.

    ``what``: the name of what is written, for errors; ``keep``: says how many of its bytes are kept, once the lock is
    held, without which nothing is written then. None: none are kept, and where there are no locks it does without.
    """
    try:
        file = os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o666), "wb", buffering=0)
        try:
            if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                _lock(file, needed=keep is not None)
                file.seek(file.truncate(0 if keep is None else keep()))
        except BaseException:
            file.close()
            raise
        return file
    except BlockingIOError:
        raise PlaceClosed(f"cannot write {what} to {path}: another process writes there; choose another file") from None
    except OSError as error:
        raise PlaceClosed(f"cannot write {what} to {path}: {error.strerror}; choose another file") from None


def not_removed(file: FileIO, path: Path) -> None:
    """Raise OSError where somebody has removed an open file: what is written there can be found by nobody.

    A file without a name may have been there before, such as ``/dev/stdout``: it is found by its ``path``.
    """
    found = os.fstat(file.fileno())
    if found.st_nlink == 0 and not (path.exists() and os.path.samestat(found, path.stat())):
        raise FileNotFoundError(errno.ENOENT, "somebody has removed it")


def _lock(file: FileIO, needed: bool) -> None:
    """Raises BlockingIOError where another process has it, OSError where it is needed and there are no locks."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if needed or isinstance(error, BlockingIOError):
            raise
