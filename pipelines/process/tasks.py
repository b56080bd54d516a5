"""Work that goes on while a block of code runs, or in a thread of its own."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from typing import Any


@asynccontextmanager
async def meanwhile(work: Coroutine[Any, Any, None]) -> AsyncIterator[None]:
    """Do the work while the block runs; what it raises by itself is raised at the block's end."""
    task = asyncio.create_task(work)
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


def in_own_thread(work: Callable[[], None]) -> asyncio.Future[None]:
    """Do long work in a new thread: those of ``serving.common.threads`` are for work of milliseconds."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[None] = loop.create_future()

    def finish(error: BaseException | None) -> None:
        if done.cancelled():
            return
        if error is None:
            done.set_result(None)
        else:
            done.set_exception(error)

    def run() -> None:
        error: BaseException | None = None
        try:
            work()
        except Exception as problem:
            error = problem
        with suppress(RuntimeError):  # the loop is gone: nobody waits any more
            loop.call_soon_threadsafe(finish, error)

    threading.Thread(target=run, daemon=True).start()
    return done
