"""Work that goes on while a block of code runs, or until somebody says stop."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Coroutine
from contextlib import asynccontextmanager, suppress
from typing import Any

from serving.errors import SluiceError

log = logging.getLogger(__name__)


@asynccontextmanager
async def meanwhile(work: Coroutine[Any, Any, None]) -> AsyncIterator[None]:
    """Do the work while the block runs; what it raises by itself is logged at once, and raised at the block's end."""
    task = asyncio.create_task(work)
    task.add_done_callback(_log_failure)
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def unless(stop: asyncio.Event, work: Awaitable[Any]) -> bool:
    """Wait for the work, but no longer than until ``stop``, which gives it up; whether it was done.

    What it raises is raised.
    """
    task, stopping = asyncio.ensure_future(work), asyncio.create_task(stop.wait())
    try:
        await asyncio.wait([task, stopping], return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            await task
        return task.done()
    finally:
        task.cancel()
        stopping.cancel()
        await asyncio.gather(task, stopping, return_exceptions=True)


def _log_failure(task: asyncio.Task[None]) -> None:
    """Blocks last as long as their process."""
    if not task.cancelled() and (error := task.exception()) is not None:
        trace = None if isinstance(error, SluiceError) else error
        log.error("a part of this process has ended, the others go on: %s", error, exc_info=trace)
