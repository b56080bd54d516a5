"""The feed of ``sluice serve``: the topics of an installation, read by a consumer of kafka-python.

Frames are read only while the page is open.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from kafka import KafkaConsumer, TopicPartition

from operators.frames.codec import FrameError, decode_frame, read_header
from operators.transports.polls import mend_polls
from operators.transports.record_sets import unreadable
from operators.wire.mishaps import Mishaps
from operators.wire.schema import FrameHeader, FrameId, Result, StreamPlan, StreamStatus, from_json
from pipelines.kafka.topics import Kind
from pipelines.observe.forward.sink import read_event
from pipelines.observe.live.page import Page
from serving.errors import Malformed

log = logging.getLogger(__name__)

LOOK_S = 5.0
"""Topics that are made later, and partitions that are added, are noticed within this time."""
POLL_MS = 200
AT_ONCE = 200
"""Messages that are decoded before the page takes them."""

Show = Callable[[], None]
"""Shows what a message holds; called on the page's loop."""


READ: tuple[Kind, ...] = ("results", "streams", "plans", "events", "frames")
"""The topics that are read."""


class BrokerFeed:
    """Reads until it is stopped; a message that is none is passed over."""

    def __init__(
        self,
        client: KafkaConsumer,
        kinds: Mapping[str, Kind],
        page: Page,
        knock: Callable[[], str | None] = lambda: None,
    ) -> None:
        """``kinds``: of the topics that are read, by name.

        ``knock``: why the broker does not answer; None where it does. Called where it was silent for ``LOOK_S``.
        """
        self._client, self._kinds, self._page, self._knock = client, kinds, page, knock
        self._mishaps = Mishaps(log)
        self._pairs = Pairs()
        self._assigned: set[TopicPartition] = set()
        self._shown = False
        self._look_s = -LOOK_S
        self._heard_s = 0.0
        self._away: str | None = None
        mend_polls(client)

    def run(
        self,
        stop: threading.Event,
        loop: asyncio.AbstractEventLoop,
        polled: Callable[[str | None], None],
        beat: Callable[[], None] = lambda: None,
    ) -> None:
        """Hand what comes to the page, which lives on ``loop``.

        ``polled`` is called after every poll, with why the broker does not answer, None where it does; ``beat`` all
        the while.
        """
        while not stop.is_set():
            beat()
            self._assign(time.monotonic())
            if not self._assigned:
                stop.wait(POLL_MS / 1000)
                continue
            self._follow_viewers()
            news = list(self._decoded(self._client.poll(timeout_ms=POLL_MS, max_records=AT_ONCE)))
            if news:  # the page sets the pace: nothing piles up between the two
                asyncio.run_coroutine_threadsafe(self._deliver(news), loop).result()
            polled(self._why_silent(time.monotonic(), bool(news)))

    def _why_silent(self, now_s: float, heard: bool) -> str | None:
        if heard:
            self._heard_s, self._away = now_s, None
        elif now_s - self._heard_s >= LOOK_S:
            self._heard_s, self._away = now_s, self._knock()
        return self._away

    def _assign(self, now_s: float) -> None:
        """Read all partitions of the topics: states and plans from the beginning, others from now on."""
        if now_s - self._look_s < LOOK_S:
            return
        self._look_s, kinds = now_s, self._kinds
        found = {TopicPartition(name, n) for name in kinds for n in self._client.partitions_for_topic(name) or ()}
        if not (new := found - self._assigned):
            return
        self._assigned |= new
        self._client.assign(sorted(self._assigned))
        ends = [place for place in new if kinds[place.topic] in ("results", "events", "frames")]
        if ends:
            self._client.seek_to_end(*ends)
        if starts := sorted(new - set(ends)):
            self._client.seek_to_beginning(*starts)
        self._client.pause(*self._frames())
        self._shown = False

    def _frames(self) -> list[TopicPartition]:
        return [place for place in self._assigned if self._kinds[place.topic] == "frames"]

    def _follow_viewers(self) -> None:
        shown, places = len(self._page.viewers) > 0, self._frames()
        if shown == self._shown or not places:
            return
        self._shown = shown
        if shown:
            self._client.seek_to_end(*places)
            self._client.resume(*places)
        else:
            self._client.pause(*places)
            self._pairs.clear()

    def _decoded(self, batches: Mapping[TopicPartition, Sequence[Any]]) -> Iterator[Show]:
        for record in (record for records in batches.values() for record in records):
            if unreadable(record.headers) is not None:
                continue  # it was logged
            try:
                if (show := self._read(record)) is not None:
                    yield show
            except (Malformed, FrameError) as error:
                place = f"partition {record.partition} offset {record.offset}"
                self._mishaps.note(f"topic {record.topic} has a message that cannot be shown", f"{place}: {error}")

    def _read(self, record: Any) -> Show | None:
        kind, board, value = self._kinds[record.topic], self._page.board, record.value or b""
        if kind == "frames":
            header = read_header(record.headers)
            return partial(self._show_frame, header, value) if header.encoding == "jpeg" else None
        if not value:
            return None  # a stream that was deleted from a compacted topic
        if kind == "results":
            return partial(self._show_result, from_json(value, Result))
        if kind == "events":
            return partial(board.event_found, read_event(value))
        if kind == "streams":
            return partial(board.in_state, from_json(value, StreamStatus))
        return partial(board.planned, [from_json(value, StreamPlan)])

    async def _deliver(self, news: Sequence[Show]) -> None:
        for show in news:
            try:
                show()
            except Exception as error:  # the next message may be a good one
                self._mishaps.note("a message cannot be shown", f"{type(error).__name__}: {error}")

    def _show_result(self, result: Result) -> None:
        self._page.board.came(result)
        if self._shown and result.outcome == "analysed":
            self._show_pair(self._pairs.result(result))

    def _show_frame(self, header: FrameHeader, data: bytes) -> None:
        self._show_pair(self._pairs.frame(header, data))

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
