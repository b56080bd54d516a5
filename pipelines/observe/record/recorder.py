"""Keeps evidence while a run or a worker goes on: a thread of its own encodes and writes, and nobody waits for it."""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import cv2

from operators.frames.codec import KEPT_QUALITY
from operators.frames.frame import Frame
from operators.observer import Observer
from operators.wire.adaptation import Disagreement
from operators.wire.schema import Counts, Event, Result, to_json
from pipelines.observe.record.folder import Folder
from pipelines.observe.record.layout import Manifest, Recording
from pipelines.observe.record.window import ORDINARY, Preroll, Shot, Window, affordable
from serving.common.tensors import Image

log = logging.getLogger(__name__)

MOST_QUEUED = 96 << 20
"""Bytes of decoded frames that wait to be written."""


@dataclass(frozen=True, slots=True, eq=False)
class _Cause:
    line: bytes
    picture: Image | None

    @property
    def bytes(self) -> int:
        return len(self.line) + (self.picture.nbytes if self.picture is not None else 0)


@contextmanager
def recorders(wanted: Recording | None) -> Iterator[list[Recorder]]:
    """Record what one query finds while the block runs; yields nobody where nothing is wanted."""
    with keeping(wanted) as keeper:
        yield [] if keeper is None or keeper.recording.manifest is None else [keeper.of(keeper.recording.manifest)]


@contextmanager
def keeping(wanted: Recording | None) -> Iterator[Keeper | None]:
    """Keep what recorders put there while the block runs; None where nothing is wanted."""
    if wanted is None:
        yield None
        return
    keeper = Keeper(wanted)
    try:
        yield keeper
    finally:
        keeper.close()


class Keeper:
    """The thread that writes, and what the recorders of all queries have in common."""

    def __init__(self, recording: Recording) -> None:
        """Raises BadInput where the folder cannot be used."""
        self.recording = recording
        self._folder = Folder(recording)
        self.numbers = count(self._folder.next)
        """Those of new episodes."""
        self.preroll = Preroll()
        self._queue: queue.SimpleQueue[tuple[Recording, int, Shot | _Cause] | None] = queue.SimpleQueue()
        self._put_bytes = self._done_bytes = 0
        self._spent_s = 0.0
        self._broken = False
        self.dropped = 0
        """Frames and causes that were lost, because writing is slower than they came."""
        self.passed_over = 0
        """Ordinary events that were not kept, because recording had taken its share of the processor."""
        self.written = 0
        """Frames."""
        self._thread = threading.Thread(target=self._work, name="record", daemon=True)
        self._thread.start()

    def of(self, manifest: Manifest) -> Recorder:
        """Who records a query."""
        return Recorder(self, self.recording.of(manifest))

    @property
    def bytes(self) -> int:
        """The folder's size on the disk."""
        return self._folder.bytes

    @property
    def works(self) -> bool:
        """Whether recording goes on: a disk that is full ends it."""
        return not self._broken

    def affords(self) -> bool:
        """Whether an ordinary event may be kept; counted where not."""
        found = affordable(self._spent_s, time.process_time())
        self.passed_over += not found
        return found

    def put(self, recording: Recording, episode: int, kept: Shot | _Cause) -> None:
        """Have it written, unless too much waits; never waits."""
        if self._put_bytes - self._done_bytes + kept.bytes > MOST_QUEUED:
            self.dropped += 1
            if self.dropped == 1:
                log.warning("recording %s: the disk is too slow, frames are lost; counted at the end", self._where)
            return
        self._put_bytes += kept.bytes
        self._queue.put((recording, episode, kept))

    def close(self) -> None:
        """Write what waits, and say what was kept."""
        self._queue.put(None)
        self._thread.join()
        lost = f"; {self.dropped} frames and causes were lost: the disk is too slow" if self.dropped else ""
        if self.passed_over:
            lost += f"; {self.passed_over} tracks' events were passed over to spare the processor"
        megabytes = self._folder.bytes / 1e6
        said = "recording %s: %d frames kept now, %d episodes and %.1f MB in all%s"
        log.info(said, self._where, self.written, self._folder.episodes, megabytes, lost)

    @property
    def _where(self) -> Path:
        return self.recording.directory

    def _work(self) -> None:
        while (item := self._queue.get()) is not None:
            try:
                if not self._broken:
                    self._write(*item)
            except (OSError, cv2.error) as error:  # a full disk ends the recording and nothing else
                self._broken = True
                why = getattr(error, "strerror", None) or error
                log.warning("recording %s has ended: %s", self._where, why)
            self._done_bytes += item[2].bytes
            self._spent_s = time.thread_time()

    def _write(self, recording: Recording, episode: int, kept: Shot | _Cause) -> None:
        if isinstance(kept, _Cause):
            picture = None if kept.picture is None else _jpeg(kept.picture)
            self._folder.because(recording, episode, kept.line, picture)
        else:
            self._folder.add(recording, episode, kept.frame.jpeg or _jpeg(kept.frame.image), to_json(kept.result))
            self.written += 1


class Recorder(Observer):
    """Hears what happens to a query, and is given every frame with its result by ``take``, a final step of its
    executor."""

    def __init__(self, keeper: Keeper, recording: Recording) -> None:
        self.keeper = keeper
        self._recording: Recording | None = recording
        """None once the query is withdrawn: a node that it shared may be audited on."""
        self._query = recording.manifest.query if recording.manifest else ""
        self._windows: dict[str, Window] = {}

    def goes_on(self, manifest: Manifest) -> None:
        """Record the query from now on as its file says now: with another one, whatever is open ends."""
        recording = self.keeper.recording.of(manifest)
        if self._recording is None or recording.directory != self._recording.directory:
            self.close()
            self._recording = recording

    def close(self) -> None:
        """Let go what is held, and record nothing more."""
        self._recording = None
        for stream in list(self._windows):
            self.stream_dropped(stream)

    async def take(self, frame: Frame, result: Result) -> None:
        """Hold a frame until it is wanted or too old; never waits."""
        window, shot = self._windows.get(frame.stream), Shot(frame, result)
        if window is None or window.run != frame.run:
            window = self._windows[frame.stream] = Window(frame.run, self.keeper.numbers)
        episode = window.episode_of(frame.media_time_s)
        if episode is None:
            self.keeper.preroll.add(shot, self._query)
        elif self._recording is not None:
            self.keeper.put(self._recording, episode, shot)

    def event_found(self, event: Event | Counts) -> None:
        """See ``Observer``; an event that no frame of its run is there for is let go."""
        window = self._windows.get(event.stream)
        if isinstance(event, Counts) or window is None or window.run != event.run:
            return
        if event.type not in ORDINARY or self.keeper.affords():
            self._keep(window, event.stream, event.media_time_s, _Cause(to_json(event), None))

    def audit_disagreed(self, found: Disagreement, picture: Image | None) -> None:
        window = self._windows.get(found.stream) or Window("", self.keeper.numbers)
        kept = None if picture is None else picture.copy()
        self._keep(window, found.stream, found.media_time_s, _Cause(to_json(found), kept))

    def stream_dropped(self, stream: str) -> None:
        self._windows.pop(stream, None)
        self.keeper.preroll.take(stream, self._query)

    def _keep(self, window: Window, stream: str, at_s: float, cause: _Cause) -> None:
        if self._recording is None:
            return
        held = self.keeper.preroll.take(stream, self._query)
        episode = window.wanted(at_s, len(held))
        for shot in held:
            self.keeper.put(self._recording, episode, shot)
        self.keeper.put(self._recording, episode, cause)


def _jpeg(image: Image) -> bytes:
    return bytes(cv2.imencode(".jpg", image, [cv2.IMWRITE_JPEG_QUALITY, KEPT_QUALITY])[1])
