"""A region of POSIX shared memory as a file: it is read and written by calls, and never mapped.

A mapped region that its owner cuts short kills the process that touches it (SIGBUS). A call on the descriptor moves as
many bytes as there are, so that nothing has to be trusted between the check and the use.
"""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path

import numpy as np

from serving.common.tensors import Array
from serving.errors import Malformed

FOLDER = Path("/dev/shm")  # noqa: S108 (where Linux keeps shared memory; names are random, files are made new)
PREFIX = "sluice-"
"""Names of regions begin so: nothing else of the machine is opened or written to."""
KEY = re.compile(rf"/?({PREFIX}[A-Za-z0-9._-]{{1,128}})")


def available() -> bool:
    """Whether the machine has shared memory where it is looked for."""
    return FOLDER.is_dir()


def open_region(key: str) -> RegionFile:
    """Open a region that another process has made, by its key; Malformed for no such region or no such name."""
    match = KEY.fullmatch(key)
    if match is None:
        raise Malformed(f"the key of a region is {PREFIX} and 1 to 128 letters, digits or . _ - after it")
    try:
        descriptor = os.open(FOLDER / match[1], os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise Malformed(f"region {match[1]}: cannot be opened ({error.strerror})") from None
    region = RegionFile(descriptor, match[1])
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        region.close()
        raise Malformed(f"region {match[1]}: not shared memory")
    return region


class RegionFile:
    def __init__(self, descriptor: int, name: str) -> None:
        self._descriptor, self.name = descriptor, name

    @property
    def size(self) -> int:
        """Bytes that it has now; its owner may change that at any time."""
        return os.fstat(self._descriptor).st_size

    @property
    def left(self) -> bool:
        """Whether its name is gone: nobody can find it any more."""
        return os.fstat(self._descriptor).st_nlink == 0

    def read(self, offset: int, into: Array) -> None:
        """Fill a contiguous array from this byte on; Malformed where the region ends before."""
        if into.nbytes and os.preadv(self._descriptor, [_bytes(into)], offset) != into.nbytes:
            raise self._short(offset, into.nbytes)

    def write(self, offset: int, array: Array) -> None:
        """Copy an array to this byte on; Malformed where the region ends before. It does not grow."""
        data = np.ascontiguousarray(array)
        if offset + data.nbytes > self.size:
            raise self._short(offset, data.nbytes)
        if data.nbytes and os.pwritev(self._descriptor, [_bytes(data)], offset) != data.nbytes:
            raise self._short(offset, data.nbytes)

    def close(self) -> None:
        """Whatever is asked of it afterwards is refused: its descriptor may be another file's by then."""
        descriptor, self._descriptor = self._descriptor, -1
        os.close(descriptor)

    def _short(self, offset: int, size: int) -> Malformed:
        return Malformed(f"region {self.name}: {self.size} bytes, where {size} from {offset} on are used")


def _bytes(array: Array) -> memoryview:
    return array.reshape(-1).view(np.uint8).data
