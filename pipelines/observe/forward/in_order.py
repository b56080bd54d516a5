"""Work in lines: that of a line in its order, of some lines at the same time."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Hashable

AT_ONCE = 8
"""Streams of which a sink is told at the same time; what happened in one stream is told in order."""

Work = Callable[[], Awaitable[None]]
"""Raises nothing: what waits behind work that fails is given up."""


class InOrder:
    """Begins with what is put into it at once, where there is room; belongs to the running loop."""

    def __init__(self) -> None:
        self._lines: dict[Hashable, deque[Work]] = {}
        self._room = asyncio.Semaphore(AT_ONCE)
        self._tasks: set[asyncio.Task[None]] = set()

    def put(self, line: Hashable, work: Work) -> None:
        """Do this when all that is in the line before it is done."""
        if (waiting := self._lines.get(line)) is not None:
            waiting.append(work)
            return
        self._lines[line] = waiting = deque((work,))
        task = asyncio.create_task(self._work(line, waiting))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def done(self) -> None:
        """Return when all is done; where this is cancelled, what is not done is given up."""
        await asyncio.gather(*self._tasks)

    async def _work(self, line: Hashable, waiting: deque[Work]) -> None:
        async with self._room:
            try:
                while waiting:
                    await waiting.popleft()()
            finally:
                del self._lines[line]
