"""One partition of the frames topic in a worker: analysed for every query, published, acknowledged."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence

from operators.frames.codec import FrameError, read_header
from operators.transports.record_sets import unreadable
from operators.wire.mishaps import Mishaps
from operators.wire.schema import FrameHeader
from pipelines.partition.answer import reason_of
from pipelines.partition.dead_letters import dead_letter
from pipelines.partition.message import Message
from pipelines.partition.queries import QueryWork
from pipelines.partition.query_window import InWork, QueryWindow
from pipelines.partition.shared_parts import WINDOW_BYTES, SharedParts, Valve

log = logging.getLogger(__name__)


class Partition:
    """Takes messages in order; none is acknowledged before the results of all queries that want it are stored."""

    def __init__(self, work: SharedParts, valve: Valve, meet: Callable[[str], object]) -> None:
        """``meet`` is called with the stream of every frame."""
        self._meet = meet
        self._work = work
        self._valve = valve
        self._taken: asyncio.Queue[Message] = asyncio.Queue()
        """Messages on their way into the windows: they wait only while something has to be read before them."""
        self._held = False
        self._mishaps = Mishaps(log)
        self._bytes = 0
        """Bytes of all messages that were taken and are not acknowledged."""
        self._in_work = 0
        """Number of messages that windows have."""
        self._windows: dict[QueryWork, QueryWindow] = {}
        self._looking: dict[str, asyncio.Task[None]] = {}
        """By stream, the gates that look at its frames."""
        self._feeder = self._watched(asyncio.create_task(self._feed()))

    def take(self, message: Message) -> None:
        """Accept the next message, asking the transport to hold when these are many. Never blocks any partition."""
        self._taken.put_nowait(message)
        self._work.tally.take(message)
        self._bytes += message.size_bytes
        if self._unfinished >= self._work.window or self._bytes >= WINDOW_BYTES:
            self._held = True
            self._valve.hold()

    async def stop(self, timeout_s: float) -> None:
        """Finish what is in the windows, within the time; the rest is left to the worker that takes over."""
        self._feeder.cancel()
        windows = list(self._windows.values())
        try:
            async with asyncio.timeout(timeout_s):
                await asyncio.gather(*(window.drain() for window in windows))
        except TimeoutError:
            pass  # not acknowledged, so it comes again
        finally:
            await asyncio.gather(*(window.abandon() for window in windows))

    async def leave(self, query: QueryWork) -> None:
        """Finish what a query has in work that gets no more frames."""
        if (window := self._windows.get(query)) is not None:
            await asyncio.wait([asyncio.ensure_future(window.drain())])  # which ends with the partition, too
            await window.abandon()
            del self._windows[query]

    async def _feed(self) -> None:
        while True:
            message = await self._taken.get()
            await self._work.queries.cover(message.timestamp_s)
            self._admit(message)

    def _admit(self, message: Message) -> None:
        """Have every query that wants a message answer it; one that cannot be read is for all of them."""
        in_work = self._read(message)
        queries = self._work.queries
        asked = list(queries) if in_work.header is None else queries.of(in_work.header.stream)
        self._in_work += 1
        in_work.waiting = max(1, len(asked))
        windows = [self._window(query) for query in asked]
        faults = self._met(in_work.header, windows)
        for window, fault in zip(windows, faults, strict=True):
            window.put(in_work, fault)
        if in_work.header is not None:
            self._look(in_work, in_work.header)
        if not windows:
            self._stored(in_work)

    def _look(self, in_work: InWork, header: FrameHeader) -> None:
        """Have gates look at a frame; those behind it on its stream wait, whichever query they are for."""
        before = self._looking.pop(header.stream, None)
        if before is not None and before.done():
            before = None
        if in_work.gates:
            before = asyncio.create_task(self._looked(in_work, header, before))
        if before is not None:
            in_work.looked = self._looking[header.stream] = before

    async def _looked(self, in_work: InWork, header: FrameHeader, before: asyncio.Task[None] | None) -> None:
        if before is not None:
            await before
        for gate in in_work.gates:
            try:
                in_work.gates[gate] = await self._work.gates.still(gate, header, in_work.message.value or b"")
            except Exception as error:  # the frame goes on
                self._mishaps.note("a gate could not look at a frame", f"{in_work.message.place}: {error}")

    def _read(self, message: Message) -> InWork:
        try:
            if (why := unreadable(message.headers)) is not None:
                return InWork(message, letter=dead_letter(message, "unreadable_record", why))
            return InWork(message, read_header(message.headers))
        except FrameError as error:
            return InWork(message, letter=dead_letter(message, *reason_of(error)))
        except Exception as error:
            reason, text = reason_of(error)
            self._mishaps.note("a message could not be worked on", f"{message.place}: {text}")
            return InWork(message, letter=dead_letter(message, reason, text))

    def _met(self, header: FrameHeader | None, windows: Sequence[QueryWindow]) -> list[Exception | None]:
        """Go on with the stream; what keeps a query from that costs it this frame."""
        if header is None:
            return [None] * len(windows)
        self._meet(header.stream)
        faults = [_fault(window, header.stream) for window in windows]
        self._miss(header)
        return faults

    def _miss(self, header: FrameHeader) -> None:
        """Tell of frames that should have come before this one; nobody can answer them any more."""
        count = self._work.missing.before(header.id)
        if count:
            place = f"stream {header.stream} run {header.run}: {count} before seq {header.seq}"
            self._mishaps.note("frames never came; they get no result", place)
            self._work.observer.frames_missing(header.stream, count)

    def _window(self, query: QueryWork) -> QueryWindow:
        if query not in self._windows:
            after = None if query.after is None else self._windows.get(query.after)
            self._windows[query] = QueryWindow(query, self._work, self._stored, after)
            self._watched(self._windows[query].finisher)
        return self._windows[query]

    def _stored(self, in_work: InWork) -> None:
        """Acknowledge a message for which all queries have stored their results."""
        in_work.waiting -= 1
        if in_work.waiting > 0:
            return
        message = in_work.message
        self._valve.acknowledge(message)
        self._work.tally.acknowledge(message)
        self._in_work -= 1
        self._bytes -= message.size_bytes
        self._release()

    @property
    def _unfinished(self) -> int:
        """Number of messages that were taken and are not acknowledged."""
        return self._taken.qsize() + self._in_work

    def _release(self) -> None:
        """Let the transport fetch again once half of what may be in work is finished."""
        if self._held and self._unfinished <= self._work.window // 2 and self._bytes <= WINDOW_BYTES // 2:
            self._held = False
            self._valve.release()

    def _watched(self, task: asyncio.Task[None]) -> asyncio.Task[None]:
        task.add_done_callback(self._note_failure)
        return task

    def _note_failure(self, finished: asyncio.Task[None]) -> None:
        if not finished.cancelled() and isinstance(error := finished.exception(), Exception):
            self._valve.fail(error)


def _fault(window: QueryWindow, stream: str) -> Exception | None:
    try:
        window.open_stream(stream)
    except Exception as error:
        return error
    return None
