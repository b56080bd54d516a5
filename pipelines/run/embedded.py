"""Everything in one process, no broker: capture threads → the executor → results, as an iterator."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Collection, Sequence
from dataclasses import dataclass
from functools import partial

from operators.capture.outlet import CaptureCallbacks
from operators.capture.spec import CaptureSpec
from operators.frames.frame import Frame
from operators.observer import UNOBSERVED, Observers, frame_answered
from operators.wire.schema import Result
from pipelines.execute.executor import Executor
from pipelines.health.liveness import STALLED_AFTER_S
from pipelines.partition.answer import cause_of
from pipelines.partition.window import OrderedWindow
from pipelines.process.tasks import meanwhile
from pipelines.run.captures import Captures, raise_first
from pipelines.run.feed import MAX_BYTES, Feed, Sampled
from pipelines.settings import decoded_memory

CHECK_S = 1.0
SETTLE_S = 2.0
"""How long sources are given to end where a run is broken off, and frames that are being analysed."""


@dataclass(frozen=True, slots=True, eq=False)
class FrameResult:
    """A frame's one result, with the frame."""

    result: Result
    sampled: Sampled

    @property
    def frame(self) -> Frame | None:
        """None where capture had no room for the picture."""
        return self.sampled.frame


class EmbeddedRun:
    """One run of a query over sources in this process; use it once."""

    def __init__(
        self,
        specs: Sequence[CaptureSpec],
        observers: Observers = UNOBSERVED,
        ahead: Collection[str] = (),
        recorded: bool = False,
        trouble: Callable[[], str | None] = lambda: None,
    ) -> None:
        """``ahead``: streams that are looked ahead in; ``recorded``: whether frames are kept; ``trouble``: says what
        is wrong with those who are told of the results, None where nothing is."""
        self._specs, self._observers, self._ahead, self._recorded = specs, observers, ahead, recorded
        self._trouble = trouble
        self._answers: asyncio.Queue[FrameResult | None] = asyncio.Queue()
        """Bounded by the credits of the feed."""
        self._windows: dict[str, OrderedWindow[Sampled, Result]] = {}

    async def results(self, executor: Executor, stop: asyncio.Event) -> AsyncGenerator[FrameResult, None]:
        """Yield one result for every sampled frame, in the order of each stream, until sources end or ``stop`` is set.

        A frame is in flight until the result behind it is asked for: taking results slowly makes files wait and
        cameras lose frames, each of which has its result. A source that cannot be read does not disturb the others: its
        ``SourceError`` is raised at the end. Use it under ``contextlib.aclosing``: leaving it ends the captures.
        """
        max_bytes = max(MAX_BYTES, decoded_memory()) if self._ahead else MAX_BYTES
        feed = Feed(partial(self._take, executor), max_bytes, self._ahead, self._recorded, executor.clock)
        capturing = asyncio.create_task(self._capture(feed, executor, stop))
        try:
            async with meanwhile(self._watch(feed)):
                while (found := await self._answers.get()) is not None:
                    yield found
                    feed.answered(found.sampled)
                    frame_answered(self._observers, found.result)
                    executor.published(found.result)
            await capturing
        finally:
            feed.close()
            capturing.cancel()
            await asyncio.gather(capturing, return_exceptions=True)
            await self._end(executor)

    async def _watch(self, feed: Feed) -> None:
        """Tell every second whether frames move."""
        while True:
            stands_s = feed.stands_s
            stalled = stands_s >= STALLED_AFTER_S
            problem = f"frames wait and none has been answered for {stands_s:.0f} s" if stalled else self._trouble()
            self._observers.worker_checked({}, stands_s, problem)
            await asyncio.sleep(CHECK_S)

    def _take(self, executor: Executor, sampled: Sampled) -> None:
        stream = sampled.header.stream
        if (window := self._windows.get(stream)) is None:
            window = self._windows[stream] = OrderedWindow(self._deliver)
        window.put(sampled, partial(_analysed, executor, sampled))

    async def _deliver(self, finished: Sequence[tuple[Sampled, Result]]) -> None:
        for sampled, result in finished:
            self._answers.put_nowait(FrameResult(result, sampled))

    async def _capture(self, feed: Feed, executor: Executor, stop: asyncio.Event) -> None:
        """Capture in threads until all sources have ended and their frames have results."""
        consumer = CaptureCallbacks(feed.emit, drop=feed.drop)
        captures = Captures(self._specs, lambda spec: consumer, executor.clock, self._observers)
        stopping = asyncio.create_task(_stopped(captures, stop))
        running = captures.start()
        over = asyncio.gather(*map(asyncio.wrap_future, running.values()), return_exceptions=True)
        try:
            await asyncio.wait([over])  # which leaves them be where this is cancelled
            await feed.emptied()
        finally:
            stopping.cancel()
            captures.stop()
            await asyncio.wait([over], timeout=SETTLE_S)
            self._answers.put_nowait(None)
        raise_first({stream: ended.exception() for stream, ended in running.items()})

    async def _end(self, executor: Executor) -> None:
        """Give up what is in work, if anything is, and forget the streams."""
        for window in self._windows.values():
            await window.abandon()
        if any(map(executor.busy, self._windows)):
            await executor.settled(SETTLE_S)  # operators forget no stream in the middle of its frame
        for stream in self._windows:
            executor.forget(stream)


async def _analysed(executor: Executor, sampled: Sampled) -> Result:
    """The frame's one result; every error becomes one."""
    header, frame = sampled.header, sampled.frame
    try:
        if frame is None:
            return executor.unanalysed(header, "dropped", header.cause or "dropped by capture")
        return await executor.submit(header, lambda: frame)
    except Exception as error:
        return executor.unanalysed(header, "failed", cause_of(error))


async def _stopped(captures: Captures, stop: asyncio.Event) -> None:
    await stop.wait()
    captures.stop()
