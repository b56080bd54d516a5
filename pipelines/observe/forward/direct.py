"""What happens in a run goes to sinks without a broker: each sink has a queue with bounds in place of a topic."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial

from msgspec.structs import replace

from operators.frames.frame import Frame
from operators.observer import Observer, Observers
from operators.wire.schema import Counts, Event, Notification, Result, StreamStatus, to_json
from pipelines.observe.forward.delivery import AT_ONCE, Delivery
from pipelines.observe.forward.filters import wants
from pipelines.observe.forward.notices import event_notice, state_notice
from pipelines.observe.forward.sink import Picture, Sinks
from pipelines.observe.forward.sinks_file import SinkSpec
from pipelines.observe.forward.snapshots import scaled
from pipelines.observe.record.preroll import Preroll, Shot
from pipelines.process.tasks import meanwhile
from serving.common.threads import in_thread

log = logging.getLogger(__name__)

MOST_WAITING = 1000
"""Notifications that wait for one sink."""
MOST_BYTES = 64 << 20
"""Bytes of decoded frames that wait, for their snapshots, with them."""
LOOK_BACK_S = 1.0
"""Media time for which frames are held: an event is found out soon after its frame."""
CLOSE_S = 10.0
"""How long sinks are given once the run is over."""


@dataclass(frozen=True, slots=True, eq=False)
class _Waiting:
    notice: Notification
    frame: Frame | None
    since_s: float

    @property
    def bytes(self) -> int:
        return 0 if self.frame is None else self.frame.pixels.nbytes


class Queue:
    """What waits for one sink: that of a stream in order, some streams at a time."""

    def __init__(self, spec: SinkSpec, way: Delivery) -> None:
        self.spec, self._way = spec, way
        self._lines: dict[str, deque[_Waiting]] = {}
        self._room = asyncio.Semaphore(AT_ONCE)
        self._tasks: set[asyncio.Task[None]] = set()
        self._waiting = self._bytes = 0

    def put(self, notice: Notification, frame: Frame | None) -> None:
        """Take a notification, with the frame of which a snapshot is to be made; one too many is given up."""
        if self._waiting >= MOST_WAITING:
            self._way.ended("expired", f"{notice.kind} of stream {notice.stream}", f"{MOST_WAITING} wait already")
            return
        if frame is not None and self._bytes + frame.pixels.nbytes > MOST_BYTES:
            notice, frame = replace(notice, snapshot_missing="gone"), None
        waiting = _Waiting(notice, frame, time.monotonic())
        self._waiting += 1
        self._bytes += waiting.bytes
        self._way.waits(self._waiting)
        line = self._lines.setdefault(notice.stream, deque())
        line.append(waiting)
        if len(line) == 1:
            task = asyncio.get_running_loop().create_task(self._work(notice.stream, line))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def close(self, within_s: float) -> None:
        """Deliver what waits, within the time, and give up the rest."""
        if self._tasks:
            _, late = await asyncio.wait(self._tasks, timeout=within_s)
            for task in late:
                task.cancel()
            if late:
                await asyncio.wait(late)
        for line in self._lines.values():
            for each in line:
                self._way.ended("expired", f"{each.notice.kind} of stream {each.notice.stream}", "the run is over")
        self._lines.clear()

    async def _work(self, stream: str, line: deque[_Waiting]) -> None:
        async with self._room:
            while line:
                await self._deliver(line[0])
                gone = line.popleft()
                self._waiting -= 1
                self._bytes -= gone.bytes
                self._way.waits(self._waiting)
        del self._lines[stream]

    async def _deliver(self, each: _Waiting) -> None:
        notice, picture = each.notice, None
        if each.frame is not None and self.spec.snapshot is not None:
            try:
                picture = await in_thread(partial(_scaled, each.frame, self.spec.snapshot.max_width))
            except ValueError:
                notice = replace(notice, snapshot_missing="unreadable")
            else:
                notice = notice if picture is not None else replace(notice, snapshot_missing="too_large")
        await self._way.deliver(notice, picture, time.monotonic() - each.since_s)


def _scaled(frame: Frame, max_width: int) -> Picture | None:
    """The frame's image as a snapshot: made here, in a thread."""
    return scaled(frame.image, max_width)


class Direct(Observer):
    """Tells the sinks of a file what it hears; ``take`` is a final step of the executor."""

    def __init__(self, sinks: Sinks) -> None:
        self._sinks = sinks
        self._queues: Sequence[Queue] = ()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._held = Preroll(LOOK_BACK_S, MOST_BYTES)
        self._wants_pictures = any(spec.snapshot is not None for spec, _ in sinks)

    async def take(self, frame: Frame, result: Result) -> None:
        """Hold a frame for a moment, where a sink wants snapshots; never waits."""
        if self._wants_pictures:
            self._held.add(Shot(frame, result))

    def event_found(self, event: Event | Counts) -> None:
        """See ``Observer``."""
        self._tell(event_notice(to_json(event)))

    def stream_state_changed(self, status: StreamStatus) -> None:
        """See ``Observer``; called by capture threads."""
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._tell, state_notice(to_json(status)))

    def stream_dropped(self, stream: str) -> None:
        """See ``Observer``."""
        self._held.take(stream)

    @asynccontextmanager
    async def running(self, observers: Observers) -> AsyncIterator[None]:
        """Connect to the sinks and tell them while the block runs, and some seconds more where they are slow."""
        self._loop = asyncio.get_running_loop()
        self._queues = [Queue(spec, Delivery(spec, sink, observers)) for spec, sink in self._sinks]
        async with AsyncExitStack() as stack:
            for _, sink in self._sinks:
                await stack.enter_async_context(meanwhile(sink.run()))
            log.info("forwarding to %s", ", ".join(spec.name for spec, _ in self._sinks))
            try:
                yield
            finally:
                await asyncio.sleep(0)  # for what capture threads have said last
                await asyncio.gather(*(each.close(CLOSE_S) for each in self._queues))
                self._loop, self._queues = None, ()

    def _tell(self, notice: Notification) -> None:
        for each in self._queues:
            if not wants(each.spec, notice):
                continue
            frame = None
            told, event = notice, notice.event
            if event is not None and each.spec.snapshot is not None:
                frame = self._held.find(event.stream, event.run, event.seq)
                told = notice if frame is not None else replace(notice, snapshot_missing="gone")
            each.put(told, frame)
