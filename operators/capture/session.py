"""One capture run: gives each picture its place in the run and hands it on, and tells the stream's state."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from datetime import datetime
from uuid import uuid4

from operators.capture.motion_gate import MotionGate
from operators.capture.outlet import Blocking, Drop, Emit, Newest, Outlet
from operators.capture.picture import Picture, thumbnail, utc_now
from operators.capture.reasons import Reason
from operators.capture.spec import CaptureSpec
from operators.capture.timeline import Timeline
from operators.frame import Frame
from operators.schema import StreamState, StreamStatus


class Session:
    """The run's counters. Used by one thread; only ``stopped`` may be set from another."""

    def __init__(self, spec: CaptureSpec, emit: Emit, status: Callable[[StreamStatus], None], drop: Drop) -> None:
        self.spec = spec
        self.run = uuid4().hex[:12]
        self.stopped = threading.Event()
        self.restarts = 0
        self.waits = not (spec.uri.live or spec.realtime)
        """Whether a slow consumer makes the source wait, rather than lose frames; settled by the first frame."""
        self._status = status
        self._emit = emit
        self._drop = drop
        self._outlet: Outlet | None = None
        self._gate = MotionGate() if spec.motion_gate else None
        self._timeline = Timeline(interval_s=0.001)
        self._frames = 0
        self._running = False
        self._last_at: datetime | None = None
        self._first_s: float | None = None

    @property
    def done(self) -> bool:
        """Whether no more pictures are wanted."""
        return self.stopped.is_set() or (self.spec.limit is not None and self._frames >= self.spec.limit)

    def accept(self, picture: Picture) -> None:
        """Place the next picture in the run and hand it on."""
        media_time_s = self._place(picture)
        if not self._running:
            self._running = True
            self.report("running")
        captured_at = picture.captured_at
        if self.spec.realtime:
            self._pace(media_time_s)
            captured_at = utc_now()
        if self.done or (self._gate is not None and not self._gate.passes(thumbnail(picture.image))):
            return
        frame = Frame(
            stream=self.spec.stream,
            run=self.run,
            seq=self._frames,
            image=picture.image,
            media_time_s=media_time_s,
            captured_at=captured_at,
            decode_ms=picture.decode_ms,
        )
        self._frames += 1
        if self._outlet is None:
            self._outlet = Blocking(self._emit) if self.waits else Newest(self._emit, self._drop)
        self._outlet.put(frame)

    def rewound(self, gap_s: float) -> None:
        """The source starts over: its next picture follows ``gap_s`` after the last."""
        self._timeline.restart(gap_s)

    def lost(self) -> None:
        """The source is gone: media time goes on by the time that passes until its next picture."""
        self._running = False

    def report(self, state: StreamState, reason: Reason | None = None, message: str | None = None) -> None:
        """Publish the stream's state."""
        self._status(
            StreamStatus(
                stream=self.spec.stream,
                run=self.run,
                state=state,
                reason=reason,
                message=None if message is None else self.spec.uri.redact(message),
                uri=str(self.spec.uri),
                at=utc_now(),
                frames=self._frames,
                restarts=self.restarts,
            )
        )

    def close(self) -> None:
        """Return when all frames have been handed on; raises what the consumer raised."""
        if self._outlet is not None:
            self._outlet.close()

    def _place(self, picture: Picture) -> float:
        if self._last_at is not None and not self._running:
            self._timeline.restart((picture.captured_at - self._last_at).total_seconds())
        self._last_at = picture.captured_at
        return self._timeline.place(picture.media_time_s)

    def _pace(self, media_time_s: float) -> None:
        now_s = time.monotonic()
        if self._first_s is None:
            self._first_s = now_s - media_time_s
        self.stopped.wait(max(0.0, self._first_s + media_time_s - now_s))
