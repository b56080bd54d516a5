"""Waiting for the event loop instead of the clock."""

from __future__ import annotations

import asyncio
from collections.abc import Callable


async def turns(count: int = 20) -> None:
    """Let the loop turn so often: tasks that can go on by themselves have done so."""
    for _ in range(count):
        await asyncio.sleep(0)


async def until(condition: Callable[[], bool], timeout_s: float = 30) -> None:
    """Let the loop turn until this holds; TimeoutError where it never does."""
    async with asyncio.timeout(timeout_s):
        while not condition():  # noqa: ASYNC110  (any condition)
            await asyncio.sleep(0)


async def settled() -> None:
    """Return when nothing else is under way in this loop."""
    while tasks := asyncio.all_tasks() - {asyncio.current_task()}:
        await asyncio.wait(tasks)
