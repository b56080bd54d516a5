"""Threads inside a network that never returned: nobody can end them but the end of the process."""

from __future__ import annotations

import threading

MOST = 3
"""With so many threads lost, a process should end: each keeps processor cores and its network's memory."""

_threads: list[threading.Thread] = []


def abandon(thread: threading.Thread) -> None:
    """Nobody waits for this thread any more."""
    _threads.append(thread)


def lost() -> int:
    """So many have still not returned."""
    _threads[:] = [thread for thread in _threads if thread.is_alive()]
    return len(_threads)
