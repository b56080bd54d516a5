"""What processes take: processor time with that of their children, and memory of which shared parts count once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress

import psutil

MB = 1_000_000


def processor_s(pids: Iterable[int]) -> float:
    """So far, of the processes and their children, those that have ended too."""
    found = 0.0
    for each in _with_children(pids):
        with suppress(psutil.NoSuchProcess):
            times = each.cpu_times()
            found += times.user + times.system + times.children_user + times.children_system
    return found


def memory_mb(pids: Iterable[int]) -> float:
    """Proportional set sizes: what several processes share is divided among them."""
    found = 0.0
    for each in _with_children(pids):
        with suppress(psutil.NoSuchProcess):
            found += each.memory_full_info().pss / MB
    return found


def _with_children(pids: Iterable[int]) -> Iterator[psutil.Process]:
    for pid in pids:
        with suppress(psutil.NoSuchProcess):
            process = psutil.Process(pid)
            yield from (process, *process.children(recursive=True))
