"""Runs a capture in a thread and keeps what it hands out."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import Self

from operators.capture.outlet import CaptureCallbacks
from operators.capture.service import Capture
from operators.capture.spec import CaptureSpec
from operators.frames.frame import Frame
from operators.wire.schema import FrameHeader, StreamStatus


class Recorder:
    """A context manager: the capture runs inside and is stopped on leaving. ``error`` is what ``run`` raised."""

    def __init__(self, spec: CaptureSpec, emit: Callable[[Frame], None] = lambda frame: None) -> None:
        self.seqs: list[int] = []
        self.frames: list[Frame] = []
        self.dropped: list[FrameHeader] = []
        self.statuses: list[StreamStatus] = []
        self.error: BaseException | None = None
        self._consumer = emit
        self.capture = Capture(spec, CaptureCallbacks(self._emit, self.statuses.append, self._drop))
        self._thread = threading.Thread(target=self._run)

    @property
    def states(self) -> list[tuple[str, str | None]]:
        return [(status.state, status.reason) for status in self.statuses]

    def until(self, condition: Callable[[], object], timeout_s: float = 120) -> None:
        deadline_s = time.monotonic() + timeout_s
        while not condition():
            assert time.monotonic() < deadline_s, f"waited in vain: {self.states}, {len(self.frames)} frames"
            time.sleep(0.02)

    def join(self, timeout_s: float = 120) -> Self:
        self._thread.join(timeout_s)
        assert not self._thread.is_alive(), self.states
        return self

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.capture.stop()
        self._thread.join(120)
        assert not self._thread.is_alive()

    def _run(self) -> None:
        try:
            self.capture.run()
        except Exception as error:
            self.error = error

    def _emit(self, frame: Frame) -> None:
        self.seqs.append(frame.seq)
        self.frames.append(frame)
        self._consumer(frame)

    def _drop(self, header: FrameHeader) -> None:
        self.seqs.append(header.seq)
        self.dropped.append(header)


def record(spec: CaptureSpec, emit: Callable[[Frame], None] = lambda frame: None) -> Recorder:
    """Run a capture to its end."""
    with Recorder(spec, emit) as recorder:
        return recorder.join()
