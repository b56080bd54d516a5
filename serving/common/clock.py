"""Clocks: code that needs the time takes a ``Clock`` as an argument, so that tests can set it.

Durations and deadlines are made of ``monotonic_s``, which nobody can set. ``now`` is what the wall clock says: it is
for people and for other machines, and it may be set forward or back at any moment.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Final, Protocol

_WITH_SLEEP: Final[int | None] = getattr(time, "CLOCK_BOOTTIME", None)


class Timer(Protocol):
    """A callback that waits for its time."""

    def cancel(self) -> None:
        """Do not call it."""


class Clock(Protocol):
    """A source of time."""

    def monotonic_s(self) -> float:
        """Seconds since some moment; never goes back. One machine's processes share it."""

    def passed_s(self) -> float:
        """Like ``monotonic_s``, but counts on while the machine sleeps, where the system tells that."""

    def now(self) -> datetime:
        """The time of day, UTC."""

    def call_at(self, at_s: float, callback: Callable[[], None]) -> Timer:
        """Call from the event loop when ``monotonic_s`` has come to ``at_s``, at once if it has."""


class SystemClock:
    def monotonic_s(self) -> float:
        return time.monotonic()

    def passed_s(self) -> float:
        return time.clock_gettime(_WITH_SLEEP) if _WITH_SLEEP is not None else time.monotonic()

    def now(self) -> datetime:
        return datetime.now(UTC)

    def call_at(self, at_s: float, callback: Callable[[], None]) -> Timer:
        return asyncio.get_running_loop().call_later(max(0.0, at_s - self.monotonic_s()), callback)


class SteadyClock(SystemClock):
    """The time of day at the start, and what has passed since: for one process, to which a clock that is set is noise.

    Differences of ``now`` are those of ``monotonic_s``.
    """

    def __init__(self) -> None:
        self._began, self._began_s = datetime.now(UTC), time.monotonic()

    def now(self) -> datetime:
        return self._began + timedelta(seconds=self.monotonic_s() - self._began_s)

    def passed_s(self) -> float:
        """The same as ``monotonic_s``, as ``now`` does not count sleep either."""
        return self.monotonic_s()


def day_time(clock: Clock, at_s: float) -> datetime:
    """The time of day, by the clock as it is set now, of a moment on its ``monotonic_s``."""
    return clock.now() - timedelta(seconds=clock.monotonic_s() - at_s)


async def sleep(clock: Clock, seconds: float) -> None:
    """Wait until so many have passed on the clock's ``monotonic_s``."""
    woken = asyncio.Event()
    timer = clock.call_at(clock.monotonic_s() + seconds, woken.set)
    try:
        await woken.wait()
    finally:
        timer.cancel()


SYSTEM = SystemClock()
