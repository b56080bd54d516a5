"""How long-running commands end: a first SIGINT or SIGTERM asks them to finish, a second one ends them."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Iterator
from contextlib import asynccontextmanager, contextmanager
from math import inf
from types import FrameType
from typing import TypeVar

from pipelines.process.tasks import meanwhile, unless
from serving.errors import SluiceError
from serving.scheduling.limits import Stopwatch

T = TypeVar("T")

INTERRUPTED = 130
"""Status of a command that Ctrl-C has ended."""


@contextmanager
def stop_on_signals() -> Iterator[threading.Event]:
    """An event that SIGINT and SIGTERM set; the second signal ends the process at once, with status ``INTERRUPTED``."""
    stop = threading.Event()

    def asked(number: int, frame: FrameType | None) -> None:
        if stop.is_set():
            os._exit(INTERRUPTED)
        stop.set()

    before = {number: signal.signal(number, asked) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class Stop(asyncio.Event):
    """Is set by a signal."""

    status = INTERRUPTED
    """The status of a command that ends by it before its work is done."""


@contextmanager
def stop_loop_on_signals() -> Iterator[Stop]:
    """The same for the running event loop."""
    loop, stop = asyncio.get_running_loop(), Stop()

    def asked(number: int) -> None:
        if stop.is_set():
            os._exit(INTERRUPTED)
        stop.status = 128 + number
        stop.set()

    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    for number in before:
        loop.add_signal_handler(number, asked, number)
    try:
        yield stop
    finally:
        for number, handler in before.items():
            loop.remove_signal_handler(number)
            signal.signal(number, handler)


@asynccontextmanager
async def stop_thread_on_signals() -> AsyncIterator[threading.Event]:
    """The same for work in a thread, beside the running event loop."""
    stop = threading.Event()
    with stop_loop_on_signals() as asked:
        async with meanwhile(_pass_on(asked, stop)):
            yield stop


async def unless_stopped(stop: Stop, work: Awaitable[T]) -> T:
    """The result of the work; raises ``SystemExit`` where ``stop`` is set before it is there, which gives it up."""
    task = asyncio.ensure_future(work)
    if not await unless(stop, task):
        raise SystemExit(stop.status)
    return task.result()


def end_within(seconds: int, reason: str) -> None:
    """Have the process end with status 1 after so many seconds, whatever still hangs in it then."""
    signal.signal(signal.SIGALRM, lambda number, frame: _end(reason))
    signal.alarm(seconds)


@asynccontextmanager
async def end_when_the_loop_hangs(limit_s: float) -> AsyncIterator[None]:
    """Have the process end with status 1 where its event loop stands still for so long; a frozen process does not."""
    over, watch, turn = threading.Event(), Stopwatch(limit_s), object()
    reason = (
        f"the event loop has stood still for {limit_s:.0f} s: the process ends here, so that it can be started anew"
    )

    def look() -> None:
        while not over.wait(watch.look_every_s):
            if watch.taken_s(turn, time.monotonic()) >= limit_s:
                _end(reason)

    async def turns() -> None:
        nonlocal turn
        while True:
            turn = object()
            await asyncio.sleep(watch.look_every_s)

    thread = threading.Thread(target=look, name="loop-watch", daemon=True)
    if limit_s < inf:
        thread.start()
    async with meanwhile(turns()):
        try:
            yield
        finally:
            over.set()


def _end(reason: str) -> None:
    os.write(sys.stderr.fileno(), f"sluice: error: {reason}\n".encode())
    os._exit(1)


@asynccontextmanager
async def stop_when_hung(hung: asyncio.Event, stop: asyncio.Event) -> AsyncIterator[None]:
    """Sets ``stop`` once a network does not return and cannot be ended; raises SluiceError when all else is done."""
    async with meanwhile(_pass_on(hung, stop)):
        yield
    if hung.is_set():
        raise SluiceError(
            "a network did not return and keeps processor cores busy: the process ends here, start it anew without the "
            "model named above"
        )


async def _pass_on(first: asyncio.Event, second: asyncio.Event | threading.Event) -> None:
    await first.wait()
    second.set()
