"""The feed of ``sluice serve``: the topics of an installation go to the page.

Frames are read only while the page is open.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from contextlib import AsyncExitStack
from functools import partial
from typing import TypeVar

from aiokafka import ConsumerRecord
from msgspec import UNSET
from msgspec.structs import replace

from operators.frames.codec import decode_frame, read_header
from operators.wire.schema import Counts, Event, FrameHeader, FrameId, Result, StreamPlan, StreamStatus, from_json
from pipelines.kafka.async_clients import knock
from pipelines.kafka.follow import Follower
from pipelines.kafka.topics import Kind
from pipelines.observe.forward.sink import read_event
from pipelines.observe.live.cards import Cards
from pipelines.observe.live.page import Page
from pipelines.process.tasks import meanwhile
from pipelines.settings import BrokerSettings
from serving.common.tensors import Image

LOOK_S = 0.5
"""How soon it is noticed that somebody opens the page, or that the last one leaves."""
SILENT_S = 5.0
"""A broker that has not answered for so long is asked why."""
KNOCK_S = 1.0

READ: tuple[Kind, ...] = ("results", "streams", "plans", "events", "frames")
"""The topics that are read."""
KEPT: tuple[Kind, ...] = ("streams", "plans")
"""Those that are read from the beginning; others from now on."""


Carded = TypeVar("Carded", bound=Result | Event | Counts)


class BrokerFeed:
    """Reads until it is cancelled; a message that cannot be shown is passed over."""

    def __init__(self, settings: BrokerSettings, topics: Mapping[Kind, str], page: Page) -> None:
        """``topics``: the names of those that are read."""
        self._settings, self._topics, self._page = settings, topics, page
        self._pairs, self._cards = Pairs(), Cards()
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
                self._show(self._pairs.frame(header, value))
        elif not value:
            return  # a stream that was deleted from a compacted topic
        elif kind == "results":
            self._show_result(from_json(value, Result))
        elif kind == "events":
            board.event_found(self._carded(read_event(value)))
        elif kind == "streams":
            board.in_state(from_json(value, StreamStatus))
        else:
            board.planned([from_json(value, StreamPlan)])

    def _reader(self, kind: Kind) -> Follower:
        since_s = None if kind in KEPT else math.inf
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

    def _carded(self, message: Carded) -> Carded:
        """The message under the name of its card."""
        if message.query is UNSET:
            return message
        card = self._cards.of(message.stream, message.query, time.monotonic())
        return message if card == message.stream else replace(message, stream=card)

    def _show_result(self, result: Result) -> None:
        self._page.board.came(self._carded(result))
        if self._frames is not None and result.outcome == "analysed":
            self._show(self._pairs.result(result))

    def _show(self, pairs: Iterable[Pair]) -> None:
        for result, jpeg in pairs:
            self._page.pictures.offer(self._carded(result), partial(_image, *jpeg))


def _image(header: FrameHeader, data: bytes) -> Image:
    return decode_frame(header, data).image


MOST_BYTES = 64 << 20
MOST_WAITING = 256
"""Frames, and results, that wait."""

Jpeg = tuple[FrameHeader, bytes]
Pair = tuple[Result, Jpeg]


class Pairs:
    """Gives frames their results, one of each query, which come on another topic; the oldest go first.

    Half of the room is for those that had none yet, which may wait for a slow query.
    """

    def __init__(self, most_bytes: int = MOST_BYTES, most_waiting: int = MOST_WAITING) -> None:
        self._most_bytes, self._most = most_bytes, most_waiting
        self._frames: OrderedDict[FrameId, Jpeg] = OrderedDict()
        self._shown: OrderedDict[FrameId, Jpeg] = OrderedDict()
        """Those that had a result, and may have others."""
        self._results: OrderedDict[tuple[FrameId, str], Result] = OrderedDict()
        self.bytes = 0
        """Size of the frames that are held."""

    def frame(self, header: FrameHeader, data: bytes) -> list[Pair]:
        """Take a frame; returns it with its results that have come."""
        key = header.id
        for held in (self._frames, self._shown):
            self.bytes -= len(held.pop(key, (header, b""))[1])
        come = [each for each in self._results if each[0] == key]
        (self._shown if come else self._frames)[key] = header, data
        self.bytes += len(data)
        while self.bytes > self._most_bytes or len(self._frames) + len(self._shown) > self._most:
            self.bytes -= len(max(self._frames, self._shown, key=len).popitem(last=False)[1][1])
        return [(self._results.pop(each), (header, data)) for each in come]

    def result(self, result: Result) -> list[Pair]:
        """Take an analysed frame's result; returns it with the frame where that has come."""
        key = result.id
        if (found := self._frames.pop(key, None) or self._shown.get(key)) is not None:
            self._shown[key] = found
            return [(result, found)]
        self._results[key, result.query] = result
        if len(self._results) > self._most:
            self._results.popitem(last=False)
        return []

    def clear(self) -> None:
        """Nobody looks any more."""
        self._frames.clear()
        self._shown.clear()
        self._results.clear()
        self.bytes = 0
