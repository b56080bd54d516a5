"""An asynchronous iterator as an ordinary one: its event loop runs in a thread of its own."""

from __future__ import annotations

import asyncio
import atexit
import threading
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import aclosing, suppress
from dataclasses import dataclass
from queue import SimpleQueue
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass(frozen=True)
class _End:
    error: BaseException | None


def iterated(items: AsyncGenerator[T, None]) -> Iterator[T]:
    """Yield what a generator yields; closing the iterator, or losing it, closes the generator and waits for that.

    The generator goes on with the next item when that is asked for.
    """
    work = _Work(items)
    atexit.register(work.stop)
    try:
        while not isinstance(found := work.next(), _End):
            yield found
        if found.error is not None:
            raise found.error
    finally:
        atexit.unregister(work.stop)
        work.stop()


class _Work(Generic[T]):
    def __init__(self, items: AsyncGenerator[T, None]) -> None:
        self._items = items
        self._asked = asyncio.Event()
        self._found: SimpleQueue[T | _End] = SimpleQueue()
        self._runner = asyncio.Runner(loop_factory=asyncio.new_event_loop)  # without, it becomes this thread's own
        self._loop = self._runner.get_loop()
        self._task = self._loop.create_task(self._hand_over())
        self._thread = threading.Thread(target=self._run, name="sluice-run", daemon=True)
        self._thread.start()

    def next(self) -> T | _End:
        self._call(self._asked.set)
        return self._found.get()

    def stop(self) -> None:
        """Close the generator and wait; from its own thread, where garbage is collected there, without waiting."""
        self._call(self._task.cancel)
        if threading.current_thread() is not self._thread:
            self._thread.join()

    def _call(self, what: Callable[[], object]) -> None:
        with suppress(RuntimeError):  # the loop has ended
            self._loop.call_soon_threadsafe(what)

    def _run(self) -> None:
        error: BaseException | None = None
        try:
            with self._runner:
                self._loop.run_until_complete(self._task)
        except BaseException as raised:  # it is raised where the items are taken
            error = raised
        self._found.put(_End(error))

    async def _hand_over(self) -> None:
        async with aclosing(self._items) as items:
            await self._asked.wait()
            async for each in items:
                self._asked.clear()
                self._found.put(each)
                await self._asked.wait()
