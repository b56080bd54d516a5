"""Regions of shared memory that this process makes: named at random, with their memory set aside, gone with it.

A region is locked for as long as its owner lives, whatever ends it; what is not locked any more is swept away.
"""

from __future__ import annotations

import fcntl
import os
import secrets

from serving.errors import Unavailable
from serving.remote.protocol import region_file
from serving.remote.protocol.region_file import PREFIX, RegionFile

OWN = f"{PREFIX}region-"
"""Names of ours begin so, and only these are swept."""


class OwnedRegion(RegionFile):
    """A region of this process, which others find by ``name``; ``close`` takes the name away."""

    def close(self) -> None:
        """Take the name away and give the memory back."""
        (region_file.FOLDER / self.name).unlink(missing_ok=True)
        super().close()


def create(size: int) -> OwnedRegion:
    """Make a region of so many bytes; Unavailable where the machine has no shared memory, or not so much."""
    descriptor = -1
    try:
        # It has its lock and its memory before it has a name: others never see it half made.
        descriptor = os.open(region_file.FOLDER, os.O_TMPFILE | os.O_RDWR | os.O_CLOEXEC, 0o600)
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.posix_fallocate(descriptor, 0, size)
        return OwnedRegion(descriptor, _linked(descriptor, OWN + secrets.token_hex(16)))
    except OSError as error:
        if descriptor >= 0:
            os.close(descriptor)
        raise Unavailable(f"shared memory: no region of {size} bytes can be made ({error.strerror})") from None


def sweep() -> int:
    """Take away the regions of ours whose owners are gone, as far as this user may. Returns their number."""
    if not region_file.available():
        return 0
    return sum(_swept(name) for name in os.listdir(region_file.FOLDER) if name.startswith(OWN))


def _linked(descriptor: int, name: str) -> str:
    """Give a file without a name its name."""
    descriptors = os.open("/proc/self/fd", os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.link(str(descriptor), region_file.FOLDER / name, src_dir_fd=descriptors, follow_symlinks=True)
    finally:
        os.close(descriptors)
    return name


def _swept(name: str) -> bool:
    path = region_file.FOLDER / name
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        path.unlink(missing_ok=True)
    except OSError:  # it is in use, or another user's
        return False
    finally:
        os.close(descriptor)
    return True
