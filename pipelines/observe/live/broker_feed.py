"""The feed of ``sluice serve``: the topics of an installation go to the page.

Frames are read only while the page is open.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from functools import partial

from aiokafka import ConsumerRecord

from operators.frames.codec import decode_frame, read_header
from operators.wire.schema import FrameHeader, FrameId, Result, StreamPlan, StreamStatus, from_json
from pipelines.kafka.async_clients import knock
from pipelines.kafka.follow import Follower
from pipelines.kafka.topics import Kind
from pipelines.observe.forward.sink import read_event
from pipelines.observe.live.page import Page
from pipelines.process.tasks import meanwhile
from pipelines.settings import BrokerSettings

LOOK_S = 0.5
"""How soon it is noticed that somebody opens the page, or that the last one leaves."""
SILENT_S = 5.0
"""A broker that has not answered for so long is asked why."""
KNOCK_S = 1.0

READ: tuple[Kind, ...] = ("results", "streams", "plans", "events", "frames")
"""The topics that are read."""
KEPT: tuple[Kind, ...] = ("streams", "plans")
"""Those that are read from the beginning; others from now on."""


class BrokerFeed:
    """Reads until it is cancelled; a message that cannot be shown is passed over."""

    def __init__(self, settings: BrokerSettings, topics: Mapping[Kind, str], page: Page) -> None:
        """``topics``: the names of those that are read."""
        self._settings, self._topics, self._page = settings, topics, page
        self._pairs = Pairs()
        self._frames: asyncio.Task[None] | None = None
        """Reads frames while somebody looks."""
        self._readers = [self._reader(kind) for kind in topics if kind != "frames"]

    async def run(self, polled: Callable[[str | None], None], beat: Callable[[], None] = lambda: None) -> None:
        """``polled`` is called with why the broker does not answer, None where it does; ``beat`` all the while."""
        async with AsyncExitStack() as stack:
            stack.callback(self._leave_frames)
            for reader in self._readers:
                await stack.enter_async_context(meanwhile(reader.run()))
            while True:
                beat()
                self._follow_viewers()
                polled(await self._why_silent())
                await asyncio.sleep(LOOK_S)

    def take(self, kind: Kind, record: ConsumerRecord) -> None:
        """Show a message; raises what is wrong with it."""
        board, value = self._page.board, record.value or b""
        if kind == "frames":
            header = read_header(record.headers)
            if header.encoding == "jpeg":
                self._show_pair(self._pairs.frame(header, value))
        elif not value:
            return  # a stream that was deleted from a compacted topic
        elif kind == "results":
            self._show_result(from_json(value, Result))
        elif kind == "events":
            board.event_found(read_event(value))
        elif kind == "streams":
            board.in_state(from_json(value, StreamStatus))
        else:
            board.planned([from_json(value, StreamPlan)])

    def _reader(self, kind: Kind) -> Follower:
        since_s = None if kind in KEPT else time.time()
        return Follower(self._settings, self._topics[kind], partial(self.take, kind), since_s)

    def _follow_viewers(self) -> None:
        if not self._page.viewers:
            self._leave_frames()
        elif self._frames is None:
            self._frames = asyncio.create_task(self._reader("frames").run())

    def _leave_frames(self) -> None:
        if self._frames is not None:
            self._frames.cancel()
            self._frames = None
            self._pairs.clear()

    async def _why_silent(self) -> str | None:
        if time.monotonic() - max(each.answered_s for each in self._readers) < SILENT_S:
            return None
        found = await knock(self._settings, KNOCK_S)
        return None if found is None else f"no broker answers at {self._settings.url} ({found.text})"

    def _show_result(self, result: Result) -> None:
        self._page.board.came(result)
        if self._frames is not None and result.outcome == "analysed":
            self._show_pair(self._pairs.result(result))

    def _show_pair(self, pair: Pair | None) -> None:
        if pair is not None:
            result, jpeg = pair
            self._page.pictures.offer(result, lambda: decode_frame(*jpeg).image)


MOST_BYTES = 64 << 20
MOST_WAITING = 256
"""Frames, and results, that wait."""

Jpeg = tuple[FrameHeader, bytes]
Pair = tuple[Result, Jpeg]


class Pairs:
    """Gives each frame its result, which comes on another topic; those that waited longest go first."""

    def __init__(self, most_bytes: int = MOST_BYTES, most_waiting: int = MOST_WAITING) -> None:
        self._most_bytes, self._most = most_bytes, most_waiting
        self._frames: OrderedDict[FrameId, Jpeg] = OrderedDict()
        self._results: OrderedDict[FrameId, Result] = OrderedDict()
        self.bytes = 0
        """Size of the frames that wait."""

    def frame(self, header: FrameHeader, data: bytes) -> Pair | None:
        """Take a frame; returns it with its result where that has come."""
        key = header.id
        if (result := self._results.pop(key, None)) is not None:
            return result, (header, data)
        self._take(key)
        self._frames[key] = header, data
        self.bytes += len(data)
        while self._frames and (self.bytes > self._most_bytes or len(self._frames) > self._most):
            self._take(next(iter(self._frames)))
        return None

    def result(self, result: Result) -> Pair | None:
        """Take an analysed frame's result; returns it with the frame where that has come."""
        key = result.id
        if (found := self._take(key)) is not None:
            return result, found
        self._results[key] = result
        if len(self._results) > self._most:
            self._results.popitem(last=False)
        return None

    def clear(self) -> None:
        """Nobody looks any more."""
        self._frames.clear()
        self._results.clear()
        self.bytes = 0

    def _take(self, key: FrameId) -> Jpeg | None:
        found = self._frames.pop(key, None)
        self.bytes -= len(found[1]) if found else 0
        return found
