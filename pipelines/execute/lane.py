"""The waiting frames of one stream, in order, under its overload policy."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

from pipelines.execute.overload import LATE, QUEUE_FULL, OverloadPolicy, ServiceTime, WaitingFrame
from serving.common.clock import SYSTEM, Clock, Timer

T = TypeVar("T")


class Dropped(Exception):
    """The frame was given up; ``cause`` says by which rule."""

    def __init__(self, cause: str) -> None:
        super().__init__(cause)
        self.cause = cause


class _Entry(Generic[T]):
    """A waiting frame, the work it waits for, and the future that its submitter awaits."""

    __slots__ = ("done", "timer", "waiting", "work")

    def __init__(self, waiting: WaitingFrame, work: Callable[[], Awaitable[T]], done: asyncio.Future[T]) -> None:
        self.waiting = waiting
        self.work = work
        self.done = done
        self.timer: Timer | None = None


class Lane(Generic[T]):
    """Runs the work of one stream's frames one at a time, in order; drops by policy, never silently.

    Lateness is checked when a frame is queued, on a timer while it waits, and when its turn comes.
    """

    def __init__(self, policy: OverloadPolicy, depth: int = 8, clock: Clock = SYSTEM) -> None:
        self._policy = policy
        self._depth = depth
        self._clock = clock
        self._queue: deque[_Entry[T]] = deque()
        self._turn = asyncio.Lock()
        self._room = asyncio.Event()
        self.runner: asyncio.Task[None] | None = None
        """Ends when the lane is idle; None while it is."""
        self._service = ServiceTime()

    async def run(self, waiting: WaitingFrame, work: Callable[[], Awaitable[T]]) -> T:
        """Queue the work and return its result; raises ``Dropped``, or what the work raises."""
        loop = asyncio.get_running_loop()
        if self._is_late(waiting, newer_waiting=False):
            self._service.dropped()
            raise Dropped(LATE)
        done: asyncio.Future[T] = loop.create_future()
        entry = _Entry(waiting, work, done)
        async with self._turn:  # fair: a frame that waits for room is not overtaken by the next
            await self._make_room()
            self._queue.append(entry)
        self._drop_late()
        self._set_timer(entry)
        if self.runner is None:
            self.runner = loop.create_task(self._drain())
        return await done

    @property
    def idle(self) -> bool:
        """Nothing waits and nothing runs."""
        return self.runner is None

    def waiting(self) -> list[float]:
        """Deadlines of the frames that wait, in their order."""
        return [entry.waiting.deadline for entry in self._queue]

    @property
    def crowded(self) -> bool:
        """Whether the queue is half full or more."""
        return 2 * len(self._queue) >= self._depth

    async def _make_room(self) -> None:
        while len(self._queue) >= self._depth:
            victim = self._policy.overflow([entry.waiting for entry in self._queue])
            if victim is None:
                self._room.clear()
                await self._room.wait()
            else:
                self._drop(self._queue[victim], QUEUE_FULL)

    async def _drain(self) -> None:
        while self._queue:
            self._drop_late()
            if not self._queue:
                break
            entry = self._queue.popleft()
            self._room.set()
            self._cancel_timer(entry)
            if not entry.done.cancelled():  # else nobody waits for it any more
                await self._perform(entry)
        self.runner = None

    async def _perform(self, entry: _Entry[T]) -> None:
        started_s = self._clock.monotonic_s()
        try:
            result = await entry.work()
        except Dropped as drop:  # given up half-way, which says nothing about the time that a frame takes
            self._service.dropped()
            _fail(entry, drop)
        except Exception as error:
            self._service.observe(self._clock.monotonic_s() - started_s)
            _fail(entry, error)
        else:
            self._service.observe(self._clock.monotonic_s() - started_s)
            if not entry.done.cancelled():
                entry.done.set_result(result)

    def _is_late(self, waiting: WaitingFrame, newer_waiting: bool) -> bool:
        return self._policy.late(waiting, newer_waiting, self._clock.monotonic_s(), self._service.seconds)

    def _drop_late(self) -> None:
        if self._policy.patient:
            return
        for entry in list(self._queue):
            if self._is_late(entry.waiting, newer_waiting=entry is not self._queue[-1]):
                self._drop(entry, LATE)

    def _drop(self, entry: _Entry[T], cause: str) -> None:
        self._queue.remove(entry)
        self._cancel_timer(entry)
        self._service.dropped()
        _fail(entry, Dropped(cause))

    def _set_timer(self, entry: _Entry[T]) -> None:
        """Check again when the deadline passes: the drop must show even while the frame before it never ends."""
        if not self._policy.patient and entry in self._queue:
            due_s = max(entry.waiting.deadline, self._clock.monotonic_s())
            entry.timer = self._clock.call_at(due_s + 0.001, self._drop_late)

    def _cancel_timer(self, entry: _Entry[T]) -> None:
        if entry.timer is not None:
            entry.timer.cancel()


def _fail(entry: _Entry[T], error: Exception) -> None:
    if not entry.done.cancelled():
        entry.done.set_exception(error)
