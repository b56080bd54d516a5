"""Tunes a command's process as a whole, while it works."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

import cv2
from threadpoolctl import threadpool_limits

SWITCH_INTERVAL_S = 0.0002
"""How long a busy Python thread may keep the interpreter from one that returns from a network (default 0.005)."""


@contextmanager
def tuned() -> Iterator[None]:
    """Short turns of Python's threads, and no threads of numpy's and OpenCV's own; afterwards all is as before.

    Beside a busy thread a call of half a millisecond into a library takes 5.6 ms by Python's turns, .9 ms by these. The
    threads of numpy's products wait for each other in a loop: on busy cores a lookup of an exit that shares its
    product takes 40 times the processor time. OpenCV's thread waits in a loop too.
    """
    before_s, threads = sys.getswitchinterval(), cv2.getNumThreads()
    sys.setswitchinterval(SWITCH_INTERVAL_S)
    cv2.setNumThreads(1)
    try:
        with threadpool_limits(1, user_api="blas"):
            yield
    finally:
        sys.setswitchinterval(before_s)
        cv2.setNumThreads(threads)
