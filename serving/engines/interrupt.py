"""How one thread asks the run that is under way in another one to end, where the runtime can do that."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_under_way: dict[int, Callable[[], None]] = {}
"""By thread: what ends its run."""


@contextmanager
def interruptible(end: Callable[[], None]) -> Iterator[None]:
    """While this lasts, ``interrupt`` may call ``end`` from another thread."""
    thread = threading.get_ident()
    _under_way[thread] = end
    try:
        yield
    finally:
        del _under_way[thread]


def interrupt(thread: threading.Thread) -> None:
    """Ask the run under way in a thread to end; does nothing where there is none or it cannot be asked."""
    end = _under_way.get(thread.ident or 0)
    if end is not None:
        end()
