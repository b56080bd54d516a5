"""Counts the processor time that observing takes: in hooks, in tasks of the event loop, in threads."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Coroutine, Generator
from typing import Any, TypeVar

T = TypeVar("T")

CALLS = 10_000

OBSERVING = ("Page.", "Pictures.", "RequestHandler.", "serving", "Scrape.")
"""Coroutines of the page, of the server and of the scrape, by the beginning of their names."""


class Meter:
    """Adds up the time of threads that run what it was given to count."""

    def __init__(self) -> None:
        self.spent_s = 0.0
        self._lock = threading.Lock()
        self._own_s = 0.0
        self._own_s = self._of_nothing_s()

    def counted(self, work: Callable[..., T]) -> Callable[..., T]:
        """The same work, counted."""

        def timed(*arguments: Any) -> T:
            began_s = time.thread_time()
            try:
                return work(*arguments)
            finally:
                self.add(time.thread_time() - began_s - self._own_s)

        return timed

    def _of_nothing_s(self) -> float:
        """What is counted for work that takes no time: half of the counting itself."""
        nothing = self.counted(lambda: None)
        for _ in range(CALLS):
            nothing()
        each_s, self.spent_s = self.spent_s / CALLS, 0.0
        return each_s

    def add(self, seconds: float) -> None:
        """More was spent; any thread may say so."""
        with self._lock:
            self.spent_s += seconds

    def watch(self, loop: asyncio.AbstractEventLoop) -> None:
        """Count every step of the tasks that observe."""

        def task(loop: asyncio.AbstractEventLoop, coro: Any, **options: Any) -> asyncio.Task[Any]:
            observes = getattr(coro, "__qualname__", "").startswith(OBSERVING)
            return asyncio.Task(_Timed(coro, self) if observes else coro, loop=loop, **options)

        loop.set_task_factory(task)


class _Timed(Coroutine[Any, Any, Any]):
    """A coroutine whose steps are counted."""

    def __init__(self, inner: Coroutine[Any, Any, Any], meter: Meter) -> None:
        self._inner = inner
        self._send, self._throw = meter.counted(inner.send), meter.counted(inner.throw)

    def __await__(self) -> Generator[Any, Any, Any]:
        return self._inner.__await__()

    def send(self, value: Any) -> Any:
        """See ``Coroutine``."""
        return self._send(value)

    def throw(self, *error: Any) -> Any:
        """See ``Coroutine``."""
        return self._throw(*error)

    def close(self) -> None:
        """See ``Coroutine``."""
        self._inner.close()
