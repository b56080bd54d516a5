"""A number of bytes that many tasks share; a task that finds too few left waits for its turn."""

from __future__ import annotations

import asyncio
from collections import deque


class ByteBudget:
    """Bytes are given out in the order of the requests, so small ones cannot overtake a large one for ever.

    A task that holds some must not ask for more: two that did would wait for each other.
    """

    def __init__(self, total_bytes: int) -> None:
        self.total_bytes = total_bytes
        self.left_bytes = total_bytes
        self._waiting: deque[tuple[int, asyncio.Future[None]]] = deque()

    async def take(self, size_bytes: int) -> None:
        """Return when the caller has its bytes; raises ValueError where the budget is smaller than that."""
        if size_bytes > self.total_bytes:
            raise ValueError(f"{size_bytes} bytes are more than the whole budget of {self.total_bytes}")
        if not self._waiting and size_bytes <= self.left_bytes:
            self.left_bytes -= size_bytes
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((size_bytes, turn))
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self.give(size_bytes)
            else:
                self._waiting = deque(each for each in self._waiting if each[1] is not turn)
                self._serve()
            raise

    def give(self, size_bytes: int) -> None:
        self.left_bytes += size_bytes
        self._serve()

    def _serve(self) -> None:
        while self._waiting and self._waiting[0][0] <= self.left_bytes:
            size_bytes, turn = self._waiting.popleft()
            if not turn.done():
                self.left_bytes -= size_bytes
                turn.set_result(None)
