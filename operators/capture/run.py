"""One capture run: gives each picture its place in the run, hands it on, and reports the stream's state. Its pieces,
one for each connection or loop, are joined into one media time.
"""

from __future__ import annotations

import logging
import threading
from dataclasses import replace
from math import inf
from typing import Final
from uuid import uuid4

import msgspec
from msgspec import UNSET, UnsetType

from operators.capture.lead_in import LeadIn
from operators.capture.outlet import Blocking, CaptureCallbacks, Newest
from operators.capture.picture import MotionGate, Picture
from operators.capture.sources.failures import Reason
from operators.capture.sources.hardware import Hardware
from operators.capture.spec import CaptureSpec
from operators.frames.changes import thumbnail
from operators.frames.frame import frame_of
from operators.frames.planes import Pixels
from operators.observer import UNOBSERVED, Observer
from operators.wire.bounds import TEXT_CHARS
from operators.wire.schema import FrameHeader, FrameId, StreamState, StreamStatus
from serving.common.clock import Clock, day_time
from serving.common.untrusted import shortened

log = logging.getLogger(__name__)


_STEP_S: Final = 0.001
"""The least time between two pieces."""
LONGEST_WAIT_S: Final = 2.0
"""For no longer does a playlist's picture wait, whatever its stamps say: they may have made a false step."""


class Pieces:
    """Places pictures in seconds from the run's first one; within a piece their times only rise."""

    def __init__(self) -> None:
        self._offset_s: float | None = None
        self._starts_s = 0.0
        self._last_s: float | None = None

    def place(self, source_s: float) -> float:
        """Return the media time of the next picture, which lies at ``source_s`` within its piece."""
        if self._offset_s is None:
            self._offset_s = self._starts_s - source_s
        self._last_s = source_s + self._offset_s
        return self._last_s

    def restart(self, gap_s: float) -> None:
        """Begin a new piece with the next picture, ``gap_s`` after the last one."""
        self._offset_s = None
        if self._last_s is not None:
            self._starts_s = self._last_s + max(_STEP_S, gap_s)


class CaptureRun:
    """The run's counters. Used by one thread; only ``stopped`` may be set from another."""

    def __init__(
        self, spec: CaptureSpec, consumer: CaptureCallbacks, clock: Clock, observer: Observer = UNOBSERVED
    ) -> None:
        self.spec = spec
        self.id = uuid4().hex[:12] if spec.resumed is None else spec.resumed.run
        self.lead_in = LeadIn({} if spec.resumed is None else spec.resumed.passed)
        self._until_s = inf if spec.resumed is None else spec.resumed.until_s
        self.stopped = threading.Event()
        self.restarts = 0
        self.waits = not (spec.uri.live or spec.realtime)
        """Whether a slow consumer makes the source wait instead of losing frames; the first frame decides it."""
        self.paced = spec.realtime
        """Whether pictures that come early wait until their media time."""
        self.hardware = Hardware(spec.hwaccel, self._decoded_in_software)
        """The decoder of the source's video, for the whole run."""
        self._clock = clock
        self._consumer = consumer
        self._observer = observer
        self._outlet: Blocking | Newest | None = None
        self._gate = MotionGate() if spec.motion_gate else None
        self._sample_fps = spec.sampling.fps or UNSET
        self._gated: bool | UnsetType = spec.motion_gate or UNSET
        self._pieces = Pieces()
        self._past_end = False
        self._frames = self.lead_in.next_seq
        self._running = False
        self._last_captured_s: float | None = None
        self._first_s: float | None = None

    @property
    def done(self) -> bool:
        """Whether no more pictures are wanted."""
        limit = self.spec.limit
        return self.stopped.is_set() or self._past_end or (limit is not None and self._frames >= limit)

    def accept(self, picture: Picture) -> None:
        """Place the next picture in the run and hand it on."""
        media_time_s = self._place(picture)
        if not self._running:
            self._running = True
            self.report("running")
        captured_s = picture.captured_s
        if self.paced:
            self._pace(media_time_s)
            captured_s = self._clock.monotonic_s()
        seq = self._seq(picture.pixels, media_time_s)
        if seq is None:
            return
        name = FrameId(self.spec.stream, self.id, seq)
        frame = frame_of(name, picture.pixels, media_time_s, day_time(self._clock, captured_s), picture.decode_ms)
        header = msgspec.structs.replace(frame.header, sample_fps=self._sample_fps, motion_gate=self._gated)
        frame = replace(frame, header=header)
        self._frames = seq + 1
        self._observer.frame_captured(frame.stream, frame.seq)
        if self._outlet is None:
            emit = self._consumer.emit
            self._outlet = Blocking(emit) if self.waits else Newest(emit, self._replaced)
        self._outlet.put(frame)

    def rewound(self, gap_s: float) -> None:
        """Note that the source starts over: its next picture follows ``gap_s`` after the last."""
        self._pieces.restart(gap_s)

    def again(self) -> None:
        """Note that the source is read again from its beginning: all media times are those of before."""
        self._pieces = Pieces()

    def lost(self) -> None:
        """Note that the source is gone: media time goes on by the time that passes until its next picture."""
        self._running = False

    def report(self, state: StreamState, reason: Reason | None = None, message: str | None = None) -> None:
        """Publish the stream's state."""
        status = StreamStatus(
            stream=self.spec.stream,
            run=self.id,
            state=state,
            reason=reason,
            message=None if message is None else shortened(self.spec.uri.redact(message), TEXT_CHARS),
            uri=shortened(str(self.spec.uri), TEXT_CHARS),
            at=self._clock.now(),
            frames=self._frames,
            restarts=self.restarts,
        )
        self._consumer.status(status)
        self._observer.stream_state_changed(status)

    def close(self) -> None:
        """Return when all frames have been handed on; raises what the consumer raised."""
        if self._outlet is not None:
            self._outlet.close()

    def _seq(self, pixels: Pixels, media_time_s: float) -> int | None:
        """The number of a picture in the run; None: it is not handed on. Raises PlaceLost."""
        if self.lead_in.covers(media_time_s):
            seq = self.lead_in.seq(media_time_s)
            if seq is not None and self._gate is not None:
                self._gate.passed(thumbnail(pixels))
            return None if self.stopped.is_set() else seq
        self.lead_in.over()
        self._past_end = media_time_s >= self._until_s
        if self.done or (self._gate is not None and not self._gate.passes(thumbnail(pixels))):
            return None
        return self._frames

    def _decoded_in_software(self, why: str) -> None:
        wanted, reason = self.spec.hwaccel, shortened(self.spec.uri.redact(why), TEXT_CHARS)
        log.warning("stream %s: decoded in software, although %s is wanted: %s", self.spec.stream, wanted, reason)

    def _replaced(self, header: FrameHeader) -> None:
        self._observer.frame_replaced(header)
        self._consumer.drop(header)

    def _place(self, picture: Picture) -> float:
        if self._last_captured_s is not None and not self._running:
            self._pieces.restart(picture.captured_s - self._last_captured_s)
        self._last_captured_s = picture.captured_s
        return self._pieces.place(picture.media_time_s)

    def _pace(self, media_time_s: float) -> None:
        """Wait until a picture is due. A playlist that has fallen behind goes on from there, at its own pace."""
        now_s = self._clock.monotonic_s()
        if self._first_s is None:
            self._first_s = now_s - media_time_s
        wait_s = max(0.0, self._first_s + media_time_s - now_s)
        if self.spec.uri.live and not self.waits:
            wait_s = min(wait_s, LONGEST_WAIT_S)
            self._first_s = now_s + wait_s - media_time_s
        self.stopped.wait(wait_s)
