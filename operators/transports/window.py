"""Work on several items of one partition at once, finished in the order the items came."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Generic, TypeVar

Item = TypeVar("Item")
Answer = TypeVar("Answer")


class OrderedWindow(Generic[Item, Answer]):
    """At most ``size`` items in work; ``finish`` gets the oldest ones that are done, in order, as one batch.

    Batches grow by themselves when finishing is slow: whatever got done meanwhile goes together. An item leaves the
    window only after ``finish`` returned for it, so what ``finish`` acknowledges was finished, with no gap before it.
    An exception of the work or of ``finish`` ends the window: ``failed`` holds it and ``put`` raises it.
    """

    def __init__(self, size: int, finish: Callable[[list[tuple[Item, Answer]]], Awaitable[None]]) -> None:
        self._size = size
        self._finish = finish
        self._room = asyncio.Semaphore(size)
        self._waiting: deque[tuple[Item, asyncio.Task[Answer]]] = deque()
        self._arrived = asyncio.Event()
        self._finisher = asyncio.create_task(self._run())

    @property
    def failed(self) -> asyncio.Task[None]:
        """Done only when the window is: with the exception that ended it, or cancelled by ``abandon``."""
        return self._finisher

    async def put(self, item: Item, work: Coroutine[Any, Any, Answer]) -> None:
        """Start the work as soon as there is room, in the order of the calls."""
        try:
            await self._unless_failed(self._room.acquire())
        except BaseException:
            work.close()
            raise
        self._waiting.append((item, asyncio.create_task(work)))
        self._arrived.set()

    async def drain(self) -> None:
        """Wait until every item put so far is finished."""
        for _ in range(self._size):  # holding all the room there is means that nothing is inside
            await self._unless_failed(self._room.acquire())
        for _ in range(self._size):
            self._room.release()

    async def abandon(self) -> None:
        """Cancel what is in work; nothing further is finished."""
        tasks = [self._finisher, *(task for _, task in self._waiting)]
        self._waiting.clear()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _run(self) -> None:
        while True:
            self._arrived.clear()
            while self._waiting:
                await asyncio.wait([self._waiting[0][1]])
                await self._finish_oldest()
            await self._arrived.wait()

    async def _finish_oldest(self) -> None:
        batch: list[tuple[Item, Answer]] = []
        while self._waiting and self._waiting[0][1].done():
            item, task = self._waiting.popleft()
            batch.append((item, task.result()))
        await self._finish(batch)
        for _ in batch:
            self._room.release()

    async def _unless_failed(self, waiting: Coroutine[Any, Any, Any]) -> None:
        task = asyncio.create_task(waiting)
        try:
            await asyncio.wait([task, self._finisher], return_when=asyncio.FIRST_COMPLETED)
        finally:
            task.cancel()
        if self._finisher.done():
            self._finisher.result()
