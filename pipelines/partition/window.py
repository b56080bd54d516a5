"""Work on several items of one partition at once, finished in the order the items came."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine
from itertools import takewhile
from typing import Any, Generic, TypeVar

Item = TypeVar("Item")
Answer = TypeVar("Answer")


class OrderedWindow(Generic[Item, Answer]):
    """Items in work; ``finish`` gets the oldest ones that are done, in order, as one batch.

    Its user bounds the number of items, by ``len``.

    Batches grow by themselves when finishing is slow: whatever got done meanwhile goes together. An item leaves the
    window only after ``finish`` returned for it, so what ``finish`` acknowledges was finished, with no gap before it.
    An exception of the work or of ``finish`` ends the window: ``finisher`` holds it, ``put`` and ``drain`` raise it.
    """

    def __init__(self, finish: Callable[[list[tuple[Item, Answer]]], Awaitable[None]]) -> None:
        self._finish = finish
        self._inside: deque[tuple[Item, asyncio.Task[Answer]]] = deque()
        self._progress = asyncio.Event()
        self._finished = asyncio.Event()
        self.finisher = asyncio.create_task(self._run())
        """Ends with the exception that ended the window, and else only by ``abandon``."""
        self.finisher.add_done_callback(lambda _: self._finished.set())

    def __len__(self) -> int:
        return len(self._inside)

    def put(self, item: Item, work: Callable[[], Coroutine[Any, Any, Answer]]) -> None:
        """Start the work; items stand in the order of the calls."""
        if self.finisher.done():
            self.finisher.result()
        task = asyncio.create_task(work())
        self._inside.append((item, task))
        task.add_done_callback(self._note)

    async def drain(self) -> None:
        """Wait until every item put so far is finished."""
        while self._inside:
            if self.finisher.done():
                self.finisher.result()
            self._finished.clear()
            await self._finished.wait()

    async def abandon(self) -> None:
        """Cancel what is in work; nothing further is finished."""
        tasks = [self.finisher, *(task for _, task in self._inside)]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _run(self) -> None:
        while True:
            while done := [
                (item, task.result()) for item, task in takewhile(lambda inside: inside[1].done(), self._inside)
            ]:
                await self._finish(done)
                for _ in done:
                    self._inside.popleft()
                self._finished.set()
            self._progress.clear()
            await self._progress.wait()

    def _note(self, task: asyncio.Task[Answer]) -> None:
        self._progress.set()
