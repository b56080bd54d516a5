"""The time that asking an exit takes, here and now."""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median

import numpy as np
from threadpoolctl import threadpool_limits

from cache_adapt.learned.learned_exit import LearnedExit

LOOKUPS = 15
"""Lookups that are timed."""
SEGMENT_BYTES = 16 << 20
"""Bytes that pass through the processor's caches between two lookups."""


def lookup_s(known: LearnedExit, clock: Callable[[], float] = time.process_time) -> float:
    """Median seconds of one lookup, after what fills the processor's own caches as a segment of a network does.

    A worker gives numpy's products one thread, so they have one here.
    """
    row = np.zeros((1, int(np.prod(known.grid))), np.float32)
    weights = np.zeros(SEGMENT_BYTES, np.uint8)
    found = []
    with threadpool_limits(1, user_api="blas"):
        for _ in range(LOOKUPS):
            weights += 1
            started_s = clock()
            known.look(row)
            found.append(clock() - started_s)
    return median(found)
