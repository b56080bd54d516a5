"""Tunes a command's process as a whole, while it works."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from threadpoolctl import threadpool_limits

SWITCH_INTERVAL_S = 0.0002
"""How long a busy Python thread may keep the interpreter from one that returns from a network (default 0.005)."""


@contextmanager
def tuned() -> Iterator[None]:
    """Short turns of Python's threads, and no threads of numpy's own; afterwards all is as before.

    Beside a busy thread a call of half a millisecond into a library takes 5.6 ms by Python's turns, .9 ms by these. The
    threads of numpy's products wait for each other in a loop: on busy cores a lookup of an exit that shares its
    product takes 40 times the processor time.
    """
    before_s = sys.getswitchinterval()
    sys.setswitchinterval(SWITCH_INTERVAL_S)
    try:
        with threadpool_limits(1, user_api="blas"):
            yield
    finally:
        sys.setswitchinterval(before_s)
