"""The device: one thread that runs batches, one after the other, as the schedule says."""

from __future__ import annotations

import asyncio
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from serving.errors import SluiceError, TooLate
from serving.requests import Answer, Request, settle
from serving.schedule import Schedule, Session, Work

SWITCH_INTERVAL_S = 0.0002
"""How long a busy Python thread may keep the interpreter from one that returns from a network (default 0.005)."""


@dataclass(frozen=True, slots=True)
class DeviceStats:
    """What the device has done since it was started."""

    batches: int = 0
    items: int = 0
    dropped: int = 0
    """Requests given up because it was too late for them."""
    busy_s: float = 0.0
    """Time inside networks."""


class Device:
    """Runs the schedule's batches in a thread of its own; requests come from, and answers go to, one event loop."""

    def __init__(self) -> None:
        self.stats = DeviceStats()
        self._schedule = Schedule()
        self._work = threading.Condition()
        self._busy = threading.Lock()
        """Held from the decision for a batch until its answers are there."""
        self._open = False
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    def start(self) -> None:
        """Start the thread; shortens the interpreter's switch interval for the whole process."""
        sys.setswitchinterval(SWITCH_INTERVAL_S)
        self._loop, self._open = asyncio.get_running_loop(), True
        self._thread = threading.Thread(target=self._serve, name="device", daemon=True)
        self._thread.start()

    async def stop(self) -> None:
        """Finish what was asked so far, then end the thread; later requests are refused."""
        self.change(self._close)
        if self._thread:
            await asyncio.to_thread(self._thread.join)
            self._thread = None

    def submit(self, session: Session, request: Request) -> None:
        """Queue a request; SluiceError once stopped."""
        with self._work:
            if not self._open:
                raise SluiceError("the engine has stopped")
            session.add(request, time.monotonic())
            self._work.notify()

    def change(self, change: Callable[[Schedule], None]) -> None:
        """Change the schedule between two decisions."""
        with self._work:
            change(self._schedule)
            self._work.notify()

    async def settled(self) -> None:
        """Wait until the batch under way, if there is one, has ended."""
        await asyncio.to_thread(self._until_free)

    def _until_free(self) -> None:
        with self._busy:
            return

    def _close(self, _: Schedule) -> None:
        self._open = False

    def _serve(self) -> None:
        while (work := self._wait()) is not None:
            if work.dropped:
                self._drop(work)
            if work.run:
                self._tell(work.run, self._run(work.session, work.run))
            self._busy.release()

    def _wait(self) -> Work | None:
        """Block until there is something to do, and be busy; None when stopped and drained."""
        with self._work:
            while (work := self._schedule.next(time.monotonic())) is None:
                if not self._open:
                    return None
                self._work.wait()
            self._busy.acquire()
            return work

    def _drop(self, work: Work) -> None:
        work.session.latency.doubt()
        self.stats = replace(self.stats, dropped=self.stats.dropped + len(work.dropped))
        self._tell(work.dropped, TooLate("it could not be answered in time"))

    def _run(self, session: Session, requests: list[Request]) -> Answer:
        """The outputs for every request, or why the batch failed."""
        items = sum(request.items for request in requests)
        started = time.perf_counter()
        try:
            answer = session.group.run([(each.model, each.batch) for each in requests], session.max_batch)
        except Exception as error:  # whatever a network raises, the thread must serve the next batch
            models = ", ".join(dict.fromkeys(repr(request.model) for request in requests))
            failure = SluiceError(f"model {models} failed on a batch of {items}: {error}")
            failure.__cause__ = error
            return failure
        took_s = time.perf_counter() - started
        session.latency.observe(items, took_s)
        session.monitor.ran(items, took_s)
        was = self.stats
        self.stats = replace(was, batches=was.batches + 1, items=was.items + items, busy_s=was.busy_s + took_s)
        return answer

    def _tell(self, requests: list[Request], answer: Answer) -> None:
        """One callback for the whole batch."""
        assert self._loop is not None
        self._loop.call_soon_threadsafe(settle, requests, answer)
