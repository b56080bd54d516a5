"""Work that goes on while a block of code runs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine
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
