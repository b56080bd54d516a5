"""Which frames have a result already: what a worker learns from the tail of the results topic when it takes over.

A worker that dies after publishing and before committing leaves frames that would be analysed again, with other track
ids and times. Its successor reads the results since the first frame it is handed and skips what they answer.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict, deque
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial

import msgspec
from aiokafka.errors import KafkaError

from operators.wire.bounds import Id, MediaTime, Seq
from operators.wire.mishaps import Mishaps
from operators.wire.schema import FrameHeader, Result, from_json
from pipelines.kafka.topic_reader import records
from pipelines.settings import BrokerSettings
from serving.common.retrying import BROKER_BACKOFF, Backoff, Persistence, retrying
from serving.errors import Malformed

log = logging.getLogger(__name__)

MARGIN_S = 30.0
"""Frames of a partition come from several machines whose clocks differ by less than this."""
LONGEST_S = 600.0
"""The topic is read no further back for tracks that have not ended."""


class _FrameTime(msgspec.Struct):
    media_time_s: MediaTime = 0.0


class _Identity(msgspec.Struct):
    """The part of a result that says which frame of which query it answers, and when that was."""

    query: Id
    stream: Id
    run: Id
    seq: Seq
    frame: _FrameTime = msgspec.field(default_factory=_FrameTime)


class Tail:
    """The results of one query found in the topic. Pure."""

    def __init__(self, query: str, recent_s: float = 0.0) -> None:
        """``recent_s``: media time of the last results that tracks are resumed by."""
        self._query = query
        self.mishaps = Mishaps(log)
        """Number of messages that were no results."""
        self._answered = Answered()
        self._recent = RecentResults(recent_s=recent_s)

    def __len__(self) -> int:
        return len(self._answered)

    @property
    def left_out(self) -> int:
        """Number of answered frames that will be analysed again, because there are too many to keep."""
        return self._answered.left_out

    def add(self, value: bytes | None, place: str = "") -> None:
        """Take a message of the results topic; anything but a result of this query is ignored."""
        try:
            identity = from_json(value or b"", _Identity)
        except Malformed as error:
            self.mishaps.note("a message is no result and is passed over", f"{place}: {error}")
            return
        if identity.query == self._query:
            self._answered.add((identity.stream, identity.run), identity.seq)
            self._recent.add(identity.stream, value or b"", identity.frame.media_time_s)

    def answered(self, header: FrameHeader) -> bool:
        """Whether the frame has a result; forgotten once asked, since a frame comes once."""
        return self._answered.take((header.stream, header.run), header.seq)

    def recent(self, stream: str) -> list[Result]:
        """The stream's last results in order, forgotten once asked for."""
        found: list[Result] = []
        for value in self._recent.pop(stream):
            try:
                found.append(from_json(value, Result))
            except Malformed as error:
                self.mishaps.note("a result cannot be read", f"stream {stream}: {error}")
        return found


class KafkaResume:
    """Reads the tail of the results topic with a consumer of its own, outside any group.

    Results are published with the timestamp of their frame, so the tail is found by time.
    """

    def __init__(
        self,
        settings: BrokerSettings,
        topic: str,
        query: str,
        flush: Callable[[], Awaitable[None]],
        backoff: Backoff = BROKER_BACKOFF,
        recent_s: float = 0.0,
    ) -> None:
        """``recent_s``: see ``Tail``; ``flush`` returns when the topic has all that this worker handed to its producer.

        A partition that went while the broker was slow leaves results there; without them the tail would be too short
        for the same partition's return, and their frames be analysed once more.
        """
        self._settings = settings
        self._topic = topic
        self._query, self._recent_s = query, recent_s
        self._flush = flush
        self._persistence = Persistence(backoff)
        self._lock = asyncio.Lock()
        self.reset()

    def reset(self) -> None:
        """Note that partitions moved, and others may have answered frames: the tail is read again at the next one."""
        self._tail = Tail(self._query, self._recent_s)
        self._covered_since_s = float("inf")

    async def cover(self, since_s: float) -> None:
        """Read all results of frames published at ``since_s`` (epoch) or later, unless that was done."""
        async with self._lock:
            if since_s < self._covered_since_s:
                errors, back_s = (KafkaError, OSError), MARGIN_S + min(self._recent_s, LONGEST_S)
                read = partial(self._read, since_s - back_s)
                self._tail = await retrying(read, errors, self._persistence, self._log_retry)
                self._covered_since_s = since_s

    def _log_retry(self, error: Exception, remaining_s: float) -> None:
        log.warning("cannot read the tail of topic %s (%s): trying again", self._topic, error)

    async def _read(self, since_s: float) -> Tail:
        await self._flush()
        tail = Tail(self._query, self._recent_s)
        async for value, place in self._values(since_s * 1000):
            tail.add(value, place)
        if len(tail):
            log.info("topic %s: %d frames at hand may have their results already", self._topic, len(tail))
        if tail.left_out:
            log.warning("topic %s: %d more frames have results; they are analysed again", self._topic, tail.left_out)
        return tail

    def answered(self, header: FrameHeader) -> bool:
        return self._tail.answered(header)

    def recent(self, stream: str) -> list[Result]:
        return self._tail.recent(stream)

    async def _values(self, since_ms: float) -> AsyncIterator[tuple[bytes | None, str]]:
        since = max(0, int(since_ms))
        async for record in records(self._settings, self._topic, "results of this query", since):
            yield record.value, f"topic {self._topic} partition {record.partition} offset {record.offset}"


MAX_ANSWERED = 500_000
"""Number of frames that are kept; a frame that is dropped is analysed again, to a result with the same key."""
RUN_COSTS = 8
"""Memory of a run besides its frames, counted in frames."""
RECENT_RESULTS, MOST_RECENT = 50, 1000
"""Number of results that are kept for each stream to resume its tracks: so many, or those of ``recent_s`` if more."""
MAX_RECENT_BYTES = 64 << 20
"""Memory for the last results of all streams together."""
RESULT_OVERHEAD_BYTES = 500

Run = tuple[str, str]
"""Stream and run."""


class Answered:
    """A set of frames; where there are too many, those of the run that was met first go."""

    def __init__(self, max_frames: int = MAX_ANSWERED) -> None:
        self._max_frames = max_frames
        self._runs: OrderedDict[Run, set[int]] = OrderedDict()
        self._frames = 0
        self.left_out = 0
        """Number of frames that were dropped."""

    def __len__(self) -> int:
        return self._frames

    def add(self, run: Run, seq: int) -> None:
        seqs = self._runs.setdefault(run, set())
        self._frames += seq not in seqs
        seqs.add(seq)
        while self._frames + RUN_COSTS * len(self._runs) > self._max_frames:
            _, gone = self._runs.popitem(last=False)
            self._frames -= len(gone)
            self.left_out += len(gone)

    def take(self, run: Run, seq: int) -> bool:
        """Remove the frame; returns whether it was in the set."""
        seqs = self._runs.get(run, set())
        if seq not in seqs:
            return False
        seqs.discard(seq)
        self._frames -= 1
        if not seqs:
            del self._runs[run]
        return True


class RecentResults:
    """The last messages of each stream; where they are too many bytes, streams go, silent ones first."""

    def __init__(self, max_bytes: int = MAX_RECENT_BYTES, recent_s: float = 0.0) -> None:
        self._max_bytes, self._recent_s = max_bytes, recent_s
        self._streams: OrderedDict[str, deque[tuple[bytes, float]]] = OrderedDict()
        """Messages, and their media times."""
        self.size_bytes = 0

    def add(self, stream: str, value: bytes, media_time_s: float = 0.0) -> None:
        """Add the stream's latest message."""
        values = self._streams.setdefault(stream, deque())
        self._streams.move_to_end(stream)
        values.append((value, media_time_s))
        self.size_bytes += _size(value)
        while len(values) > RECENT_RESULTS and (
            len(values) > MOST_RECENT or abs(media_time_s - values[0][1]) > self._recent_s
        ):
            self.size_bytes -= _size(values.popleft()[0])
        while self.size_bytes > self._max_bytes:
            silent = next(iter(self._streams))
            if silent == stream:
                self.size_bytes -= _size(values.popleft()[0])
            else:
                self.pop(silent)

    def pop(self, stream: str) -> list[bytes]:
        """Remove and return a stream's messages in order."""
        values = [value for value, _ in self._streams.pop(stream, deque())]
        self.size_bytes -= sum(map(_size, values))
        return values


def _size(value: bytes) -> int:
    return len(value) + RESULT_OVERHEAD_BYTES
