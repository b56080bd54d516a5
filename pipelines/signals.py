"""SIGINT and SIGTERM end a command in order: what is in flight is finished and flushed."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def stop_on_signals() -> Iterator[asyncio.Event]:
    """An event of the running loop that the first SIGINT or SIGTERM sets; the second SIGINT interrupts as usual."""
    loop = asyncio.get_running_loop()
    stop = asyncio.Event()

    def first(number: signal.Signals) -> None:
        loop.remove_signal_handler(number)
        stop.set()

    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, first, number)
    try:
        yield stop
    finally:
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(number)
