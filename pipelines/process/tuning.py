"""Tunes a worker's process as a whole, while it works."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import cv2
from threadpoolctl import threadpool_limits

from pipelines.process.garbage import collect_often

SWITCH_INTERVAL_S = 0.0002
"""How long a busy Python thread may keep the interpreter from one that returns from a network (default 0.005)."""


@contextmanager
def tuned() -> Iterator[None]:
    """No long pauses for garbage, and no threads of OpenCV's own or of numpy's; afterwards all is as before.

    What is loaded by now stays, so garbage collection need not look at it while the event loop stands still. OpenCV's
    threads wait for work in a loop, on cores that other streams and the networks need. So do those of numpy's products
    of matrices: beside other work a lookup of a learned cache that shares its product takes many times as long.
    """
    opencv_threads, switch_interval_s = cv2.getNumThreads(), sys.getswitchinterval()
    cv2.setNumThreads(1)
    sys.setswitchinterval(SWITCH_INTERVAL_S)
    collect_often()
    gc.freeze()
    try:
        with threadpool_limits(1, user_api="blas"):
            yield
    finally:
        gc.unfreeze()
        sys.setswitchinterval(switch_interval_s)
        cv2.setNumThreads(opencv_threads)
