"""Work in a network that may never return, done in a thread of its own while the event loop waits with patience."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Generic, TypeVar

from serving.engines.interrupt import interrupt
from serving.watchdog.abandoned import abandon
from serving.watchdog.patience import Patience

T = TypeVar("T")


class Overran(Exception):
    """The work took longer than it may; its thread has ended or is abandoned."""


async def watched(work: Callable[[], T], limit_s: float, name: str) -> T:
    """Return the work's result; Overran where it takes too long. Nothing waits for the thread at the process's end."""
    return await _Watched(work, name).wait(Patience(limit_s))


class _Watched(Generic[T]):
    def __init__(self, work: Callable[[], T], name: str) -> None:
        self._work = work
        self._loop = asyncio.get_running_loop()
        self._answer: asyncio.Future[T] = self._loop.create_future()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    async def wait(self, patience: Patience) -> T:
        self._thread.start()
        overran = False
        try:
            while not self._answer.done():
                await asyncio.wait([self._answer], timeout=patience.look_every_s)
                verdict = patience.look(self, time.monotonic())
                if verdict == "interrupt":
                    overran = True
                    interrupt(self._thread)
                elif verdict == "abandon":
                    break
        finally:
            if not self._answer.done():
                abandon(self._thread)
                self._answer.cancel()
        if overran:
            with suppress(Exception, asyncio.CancelledError):
                self._answer.result()  # heard, so that the loop does not complain of it
            raise Overran
        return self._answer.result()

    def _run(self) -> None:
        try:
            found = self._work()
        except Exception as error:
            self._finish(error=error)
        else:
            self._finish(found)

    def _finish(self, found: T | None = None, error: Exception | None = None) -> None:
        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
            self._loop.call_soon_threadsafe(self._settle, found, error)

    def _settle(self, found: Any, error: Exception | None) -> None:
        if self._answer.done():
            return
        if error is None:
            self._answer.set_result(found)
        else:
            self._answer.set_exception(error)
