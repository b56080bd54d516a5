"""Work of some milliseconds, done beside the event loop in a few threads that all parts of a process share.

What ``asyncio.to_thread`` does, for half of its price: a frame is handed over several times, and each time costs.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from queue import SimpleQueue
from typing import Any, TypeVar

T = TypeVar("T")

_THREADS = (os.cpu_count() or 1) + 2
_jobs: SimpleQueue[Callable[[], None]] = SimpleQueue()
_starting = threading.Lock()
_threads: list[threading.Thread] = []


def beside(work: Callable[[], T]) -> asyncio.Future[T]:
    """Do the work in a thread; the future belongs to the running loop. Work that nobody awaits any more is still done.

    For short work only, since all who call this share the threads.
    """
    if not _threads:
        _start()
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[T] = loop.create_future()
    _jobs.put(partial(_do, work, loop, answer))
    return answer


def _start() -> None:
    with _starting:
        if not _threads:
            _threads.extend(threading.Thread(target=_serve, name=f"beside-{n}", daemon=True) for n in range(_THREADS))
            for thread in _threads:
                thread.start()


def _serve() -> None:
    while True:
        _jobs.get()()


def _do(work: Callable[[], T], loop: asyncio.AbstractEventLoop, answer: asyncio.Future[T]) -> None:
    try:
        tell: Callable[[], Any] = partial(answer.set_result, work())
    except Exception as error:
        tell = partial(answer.set_exception, error)
    with suppress(RuntimeError):  # the loop is closed: nobody waits any more
        loop.call_soon_threadsafe(_unless_given_up, answer, tell)


def _unless_given_up(answer: asyncio.Future[T], tell: Callable[[], Any]) -> None:
    if not answer.cancelled():
        tell()
