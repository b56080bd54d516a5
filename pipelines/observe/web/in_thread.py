"""The same server for a process without an event loop: in a thread that has one."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from queue import SimpleQueue

Serve = Callable[[Callable[[], None], asyncio.Event], Awaitable[None]]
"""Serves until the event is set; calls its first argument once it listens."""


@contextmanager
def in_thread(serve: Serve) -> Iterator[asyncio.AbstractEventLoop]:
    """Serve while the block runs, on the loop that is yielded; raises what ``serve`` raises before it listens."""
    begun: SimpleQueue[BaseException | None] = SimpleQueue()
    loop, stop = asyncio.new_event_loop(), asyncio.Event()

    def work() -> None:
        try:
            loop.run_until_complete(serve(lambda: begun.put(None), stop))
        except BaseException as error:
            begun.put(error)
        finally:
            loop.close()

    thread = threading.Thread(target=work, name="serve", daemon=True)
    thread.start()
    if (error := begun.get()) is not None:
        thread.join()
        raise error
    try:
        yield loop
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join()
