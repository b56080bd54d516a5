"""One partition of the frames topic in a worker: analysed in a bounded window, published, acknowledged."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from operators.frames.codec import FrameError, read_header
from operators.observer import UNOBSERVED, Observer, frame_answered
from operators.transports.record_sets import unreadable
from operators.wire.mishaps import Mishaps
from operators.wire.schema import FrameHeader
from pipelines.partition.answer import Analyser, Answer, answer, checked, failed, reason_of
from pipelines.partition.dead_letters import dead_letter
from pipelines.partition.dispatch import Derive, Dispatch, TopicNames
from pipelines.partition.message import Message
from pipelines.partition.missing import MissingFrames
from pipelines.partition.publisher import Publisher
from pipelines.partition.resume import Resume
from pipelines.partition.stream_state import NoStateStore, StateStore
from pipelines.partition.tally import Tally
from pipelines.partition.window import OrderedWindow
from pipelines.settings import StreamBounds

log = logging.getLogger(__name__)

WINDOW = 32
"""Frames of one partition in work at which it is no longer fetched from. Images are decoded when their turn comes."""
WINDOW_BYTES = 32 << 20
"""Bytes of their messages at which it is no longer fetched from."""


@dataclass(frozen=True)
class SharedParts:
    """The parts that all partitions of a worker share."""

    analyser: Analyser
    publisher: Publisher
    topics: TopicNames
    resume: Resume
    derive: Derive
    state_store: StateStore = field(default_factory=NoStateStore)
    bounds: StreamBounds = field(default_factory=StreamBounds)
    tally: Tally = field(default_factory=Tally)
    observer: Observer = UNOBSERVED
    window: int = WINDOW
    """Frames of one partition in work at which it is no longer fetched from."""
    missing: MissingFrames = field(default_factory=MissingFrames)


@dataclass(frozen=True)
class Valve:
    """How a partition acts on the transport it is read from."""

    acknowledge: Callable[[Message], None]
    hold: Callable[[], None]
    """Fetch no more of this partition; may be called while it is held already."""
    release: Callable[[], None]


class Partition:
    """Takes messages in order; none is acknowledged before its result is stored, nor before the one ahead of it."""

    def __init__(self, work: SharedParts, valve: Valve, meet: Callable[[str], bool]) -> None:
        """``meet`` is called with the stream of every frame, and returns whether the stream is new."""
        self._meet = meet
        self._work = work
        self._valve = valve
        self._taken: asyncio.Queue[Message] = asyncio.Queue()
        """Messages on their way into the window: they wait only while something has to be read before them."""
        self._held = False
        self._mishaps = Mishaps(log)
        self._dispatch = Dispatch(work.topics, work.derive, self._mishaps)
        self._bytes = 0
        """Bytes of all messages that were taken and are not finished."""
        self._window: OrderedWindow[Message, Answer] = OrderedWindow(self._finish)
        self._feeder = asyncio.create_task(self._feed())

    @property
    def tasks(self) -> tuple[asyncio.Task[None], asyncio.Task[None]]:
        """End with an exception where the partition cannot go on, and else only by ``stop``."""
        return self._feeder, self._window.finisher

    def take(self, message: Message) -> None:
        """Accept the next message, asking the transport to hold when these are many. Never blocks any partition."""
        self._taken.put_nowait(message)
        self._bytes += message.size_bytes
        if self._unfinished >= self._work.window or self._bytes >= WINDOW_BYTES:
            self._held = True
            self._valve.hold()

    async def stop(self, timeout_s: float) -> None:
        """Finish what is in the window, within the time; the rest is left to the worker that takes over."""
        self._feeder.cancel()
        try:
            async with asyncio.timeout(timeout_s):
                await self._window.drain()
        except TimeoutError:
            pass  # not acknowledged, so it comes again
        finally:
            await self._window.abandon()

    async def _feed(self) -> None:
        while True:
            message = await self._taken.get()
            await self._work.resume.cover(message.timestamp_s)
            await self._work.state_store.read()
            self._window.put(message, partial(self._begin, message))

    def _begin(self, message: Message) -> Coroutine[Any, Any, Answer]:
        """Analyse a message; an error costs that message alone and is not raised."""
        header: FrameHeader | None = None
        try:
            if (why := unreadable(message.headers)) is not None:
                return _now(Answer(dead_letter=dead_letter(message, "unreadable_record", why)))
            header = read_header(message.headers)
            self._open_stream(header.stream)
            self._miss(header)
            if self._work.resume.answered(header):
                return _now(Answer())
        except FrameError as error:
            return _now(Answer(dead_letter=dead_letter(message, *reason_of(error))))
        except Exception as error:
            return _now(self._unexpected(message, header, error))
        return self._answer(message, header)

    async def _answer(self, message: Message, header: FrameHeader) -> Answer:
        try:
            return checked(message, await answer(message, header, self._work.analyser))
        except Exception as error:
            return self._unexpected(message, header, error)

    def _unexpected(self, message: Message, header: FrameHeader | None, error: Exception) -> Answer:
        reason, said = reason_of(error)
        self._mishaps.note("a message could not be worked on", f"{message.place}: {said}")
        if header is None:
            return Answer(dead_letter=dead_letter(message, reason, said))
        return failed(message, header, self._work.analyser, error)

    def _open_stream(self, stream: str) -> None:
        """Go on with the state of a stream that comes for the first time, or again after partitions moved.

        Others may have answered frames of it meanwhile: those are not missing.
        """
        is_new = self._meet(stream)
        for result in self._work.resume.recent(stream):
            if is_new:
                self._dispatch.events(result)  # its events were published before: only the resulting state matters
            self._work.missing.before(result.id)
        if is_new:
            self._work.state_store.restore(stream)

    def _miss(self, header: FrameHeader) -> None:
        """Tell of frames that should have come before this one; nobody can answer them any more."""
        count = self._work.missing.before(header.id)
        if count:
            place = f"stream {header.stream} run {header.run}: {count} before seq {header.seq}"
            self._mishaps.note("frames never came; they get no result", place)
            self._work.observer.frames_missing(header.stream, count)

    async def _finish(self, batch: Sequence[tuple[Message, Answer]]) -> None:
        """Publish results last: a worker that dies in between repeats the frame, with nothing lost."""
        side_messages = [
            outgoing for message, found in batch for outgoing in self._dispatch.side_messages(message, found)
        ]
        if side_messages:
            await self._work.publisher.publish(side_messages)
        await self._work.publisher.publish(
            [outgoing for message, found in batch for outgoing in self._dispatch.result(message, found)]
        )
        for message, found in batch:
            self._valve.acknowledge(message)
            self._work.tally.answered(message, found)
            if found.result is not None:
                frame_answered(self._work.observer, found.result)
                self._work.analyser.published(found.result)
            self._bytes -= message.size_bytes
        self._release(self._unfinished - len(batch))

    @property
    def _unfinished(self) -> int:
        """Number of messages that were taken and have not left the window."""
        return self._taken.qsize() + len(self._window)

    def _release(self, left: int) -> None:
        """Let the transport fetch again once half of what may be in work is finished."""
        if self._held and left <= self._work.window // 2 and self._bytes <= WINDOW_BYTES // 2:
            self._held = False
            self._valve.release()


async def _now(found: Answer) -> Answer:
    return found
