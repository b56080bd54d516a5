"""The memory a network takes, and giving it back."""

from __future__ import annotations

import ctypes
import sys

import psutil


def resident_bytes() -> int:
    """Memory of this process that lies in RAM; everything it does at the moment counts."""
    return int(psutil.Process().memory_info().rss)


def give_back() -> None:
    """Hand memory that has been freed back to the system; the C library would keep it for later otherwise."""
    if sys.platform == "linux":
        # Other C libraries (musl) have no such call and return freed memory by themselves.
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:
            trim(0)
