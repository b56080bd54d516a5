"""The device: one thread that runs batches, one after the other, as the schedule says.

A batch that takes too long fails its requests. Where the runtime can be asked to end it, the thread goes on with the
next batch; otherwise the device hangs: it takes no requests any more, and the process has to be started anew.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from serving.common.clock import SYSTEM, Clock
from serving.common.engine_observer import UNOBSERVED, EngineObserver
from serving.common.threads import TimeBeside
from serving.engines.execution_device import cost_s
from serving.engines.groups import GroupRequest
from serving.engines.network import interrupt
from serving.errors import SluiceError, TooLate
from serving.scheduling.limits import Stopwatch
from serving.scheduling.requests import Answer, Request, give_answers
from serving.scheduling.schedule import Schedule, Session, Work

GRACE_S = 2.0
"""So long a network that was asked to end may take to do so."""


@dataclass(frozen=True, slots=True)
class DeviceStats:
    """Counters since the device was started."""

    batches: int = 0
    items: int = 0
    dropped: int = 0
    """Requests given up because it was too late for them."""
    busy_s: float = 0.0
    """Time inside networks."""
    background_s: float = 0.0
    """The part of it that was for background work alone."""

    def ran(self, items: int, took_s: float, background: bool) -> DeviceStats:
        """The counters after another batch."""
        return replace(
            self,
            batches=self.batches + 1,
            items=self.items + items,
            busy_s=self.busy_s + took_s,
            background_s=self.background_s + (took_s if background else 0.0),
        )


@dataclass(frozen=True, slots=True, eq=False)
class UnderWay:
    """The work that a thread is doing."""

    work: Work
    thread: threading.Thread


class Device:
    """Runs the schedule's batches in a thread of its own; requests come from, and answers go to, one event loop."""

    def __init__(
        self,
        batch_s: float,
        overran: Callable[[Sequence[Request]], None],
        hangs: Callable[[], None],
        clock: Clock = SYSTEM,
        observer: EngineObserver = UNOBSERVED,
    ) -> None:
        """``overran`` is told on the loop of the requests whose batch took longer than ``batch_s``, while they wait.

        ``hangs`` is called where it does not end when it is asked to: nothing that waits is answered any more.
        """
        self.stats = DeviceStats()
        self._batch_s, self._overran, self._hangs, self._clock = batch_s, overran, hangs, clock
        self._observer = observer
        self._schedule = Schedule()
        lock = threading.RLock()
        self._work, self._ended = threading.Condition(lock), threading.Condition(lock)
        self._under_way: UnderWay | None = None
        """From the decision for a batch until its answers are there."""
        self._open = False
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._watch: asyncio.Task[None] | None = None
        self._used = TimeBeside()

    def start(self) -> None:
        self._loop, self._open = asyncio.get_running_loop(), True
        self._used = TimeBeside()  # what the loop does while a batch runs is not the network's
        self._serve_anew()
        self._watch = asyncio.create_task(self._watched())

    async def stop(self) -> None:
        """Finish what was asked so far, then end the thread; later requests are refused."""
        self.change(self._close)
        if self._watch:
            await asyncio.to_thread(self._until_drained)
            self._watch.cancel()
            self._watch = None

    def submit(self, session: Session, request: Request) -> None:
        """Queue a request; SluiceError once stopped."""
        with self._work:
            if not self._open:
                raise SluiceError("the engine has stopped")
            session.add(request, self._clock.monotonic_s())
            self._work.notify()

    def change(self, change: Callable[[Schedule], None]) -> None:
        """Change the schedule between two decisions."""
        with self._work:
            change(self._schedule)
            self._work.notify()

    async def settled(self) -> None:
        """Wait until the batch under way, if there is one, has ended or is given up."""
        await asyncio.to_thread(self._until_ended, self._under_way)

    def _until_ended(self, batch: UnderWay | None) -> None:
        with self._ended:
            self._ended.wait_for(lambda: batch is None or self._under_way is not batch)

    def _until_drained(self) -> None:
        with self._ended:
            self._ended.wait_for(lambda: self._thread is None)

    def _close(self, _: Schedule) -> None:
        self._open = False

    def _serve_anew(self) -> None:
        thread = threading.Thread(target=self._serve, name="device", daemon=True)
        thread.start()
        self._thread = thread

    def _serve(self) -> None:
        while (batch := self._wait()) is not None:
            work = batch.work
            if work.dropped:
                self._drop(work)
            if work.run:
                answer = self._run(work.session, work.run)
                if not self._is_ours(batch):
                    return
                self._deliver(work.run, answer)
            self._end(batch)

    def _wait(self) -> UnderWay | None:
        """Block until there is something to do; None when stopped and drained."""
        with self._work:
            while (work := self._schedule.next(self._clock.monotonic_s())) is None:
                if not self._open:
                    self._thread = None
                    self._ended.notify_all()
                    return None
                self._work.wait()
            self._under_way = UnderWay(work, threading.current_thread())
            return self._under_way

    def _is_ours(self, batch: UnderWay) -> bool:
        """Whether the thread still serves: it does not once the device hangs."""
        with self._work:
            return self._under_way is batch

    def _end(self, batch: UnderWay) -> None:
        with self._work:
            if self._under_way is batch:
                self._under_way = None
                self._ended.notify_all()

    async def _watched(self) -> None:
        """Look after the batch under way, for as long as the device serves."""
        limit_s, overran = self._batch_s, None
        watch = Stopwatch(limit_s)
        while True:
            await asyncio.sleep(watch.look_every_s)
            batch = self._under_way
            taken_s = watch.taken_s(batch, self._clock.monotonic_s())
            if batch is None or taken_s < limit_s:
                continue
            if batch is not overran:
                overran = batch
                self._overran(batch.work.run)
                interrupt(batch.thread)
            elif taken_s >= limit_s + GRACE_S:
                self._hang(batch)

    def _hang(self, batch: UnderWay) -> None:
        """Give the thread up, unless its batch has just ended."""
        with self._work:
            if self._under_way is not batch:
                return
            self._open, self._thread, self._under_way = False, None, None
            self._ended.notify_all()
        self._hangs()

    def _drop(self, work: Work) -> None:
        work.session.latency.doubt()
        self.stats = replace(self.stats, dropped=self.stats.dropped + len(work.dropped))
        self._deliver(work.dropped, TooLate("it could not be answered in time"))

    def _run(self, session: Session, requests: list[Request]) -> Answer:
        """The outputs for every request, or why the batch failed."""
        items = sum(request.items for request in requests)
        meter = session.meter(requests)
        started_s, spent_s = self._clock.monotonic_s(), self._spent_s() if meter else 0.0
        try:
            asked = [GroupRequest(each.model, each.batch, each.policy) for each in requests]
            answer = session.group.run(asked, session.max_batch)
        except Exception as error:  # whatever a network raises, the thread must serve the next batch
            models = ", ".join(dict.fromkeys(repr(request.model) for request in requests))
            failure = SluiceError(f"model {models} failed on a batch of {items}: {error}")
            failure.__cause__ = error
            return failure
        took_s = self._clock.monotonic_s() - started_s
        session.latency.observe(items, took_s)
        if meter:
            meter.ran(items, self._spent_s() - spent_s)
        self.stats = self.stats.ran(items, took_s, all(each.urgency.background for each in requests))
        self._observer.network_ran(session.name, items, took_s)
        return answer

    def _spent_s(self) -> float:
        return cost_s(lambda: self._used.seconds)

    def _deliver(self, requests: list[Request], answer: Answer) -> None:
        """One callback for the whole batch."""
        assert self._loop is not None
        self._loop.call_soon_threadsafe(give_answers, requests, answer)
