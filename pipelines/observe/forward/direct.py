"""Events of this process go to sinks at once: each has a queue with bounds in place of a topic."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from functools import partial

from operators.frames.frame import Frame
from operators.observer import Observer, Observers
from operators.wire.schema import Counts, Event, Notification, Result, StreamStatus
from pipelines.observe.forward.delivery import PATIENCE_S, Delivery, Load, deliveries
from pipelines.observe.forward.in_order import InOrder
from pipelines.observe.forward.sink import Missing, Sinks, notice_of
from pipelines.observe.record.window import Preroll, Shot
from serving.common.tensors import Image

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

    async def find(self, event: Event) -> Load | Missing:
        return "gone" if self.frame is None else partial(_image, self.frame)


def _image(frame: Frame) -> Image:
    return frame.image


class Queue:
    """Notifications that wait for one sink."""

    def __init__(self, way: Delivery) -> None:
        self._way, self._lines = way, InOrder()
        self._waiting: dict[_Waiting, None] = {}

    def put(self, notice: Notification, held: Preroll) -> None:
        """Take what the sink wants, with the frame of which a snapshot is to be made; one too many is given up."""
        if not self._way.spec.wants(notice):
            return
        if len(self._waiting) >= MOST_WAITING:
            self._way.ended("expired", notice, f"{MOST_WAITING} wait already")
            return
        event, frame = notice.event, None
        if event is not None and self._way.spec.snapshot is not None:
            frame = held.find(event.stream, event.run, event.seq)
            if frame is not None and sum(each.bytes for each in self._waiting) + frame.pixels.nbytes > MOST_BYTES:
                frame = None
        waiting = _Waiting(notice, frame, time.monotonic())
        self._waiting[waiting] = None
        self._way.waits(len(self._waiting))
        self._lines.put(notice.stream, partial(self._deliver, waiting))

    def trouble(self) -> str | None:
        """Why the sink takes nothing; None while it is well."""
        return self._way.trouble(PATIENCE_S)

    async def close(self, within_s: float) -> None:
        """Deliver what waits, within the time, and give up the rest."""
        with suppress(TimeoutError):
            async with asyncio.timeout(within_s):
                await self._lines.done()
        for each in self._waiting:
            self._way.ended("expired", each.notice, "the run is over")

    async def _deliver(self, each: _Waiting) -> None:
        await self._way.deliver(each.notice, time.monotonic() - each.since_s, each.find)
        del self._waiting[each]
        self._way.waits(len(self._waiting))


class Direct(Observer):
    """Tells the sinks of a file what it hears; ``take`` is a final step of the executor."""

    def __init__(self, sinks: Sinks) -> None:
        self._sinks = sinks
        self._queues: Sequence[Queue] = ()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._held = Preroll(LOOK_BACK_S, MOST_BYTES)
        self._wants_pictures = any(spec.snapshot is not None for spec, _ in sinks)

    def trouble(self) -> str | None:
        """Why the first sink that takes nothing does not; None while all are well."""
        return next(filter(None, (each.trouble() for each in self._queues)), None)

    async def take(self, frame: Frame, result: Result) -> None:
        """Hold a frame for a moment, where a sink wants snapshots; never waits."""
        if self._wants_pictures:
            self._held.add(Shot(frame, result))

    def event_found(self, event: Event | Counts) -> None:
        self._tell(event)

    def stream_state_changed(self, status: StreamStatus) -> None:
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._tell, status)

    def stream_dropped(self, stream: str) -> None:
        self._held.take(stream)

    @asynccontextmanager
    async def running(self, observers: Observers) -> AsyncIterator[None]:
        """Connect to the sinks and tell them while the block runs, and some seconds more where they are slow."""
        self._loop = asyncio.get_running_loop()
        async with deliveries(self._sinks, observers) as ways:
            self._queues = [Queue(way) for way in ways]
            log.info("forwarding to %s", ", ".join(way.spec.name for way in ways))
            try:
                yield
            finally:
                await asyncio.sleep(0)  # for what capture threads have said last
                await asyncio.gather(*(each.close(CLOSE_S) for each in self._queues))
                self._loop, self._queues = None, ()

    def _tell(self, message: Event | Counts | StreamStatus) -> None:
        if self._queues:
            notice = notice_of(message)
            for each in self._queues:
                each.put(notice, self._held)
