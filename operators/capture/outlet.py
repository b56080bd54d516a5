"""Who takes what a capture yields, and how frames leave it when they are slower than the source."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from operators.frames.codec import dropped_header
from operators.frames.frame import Frame
from operators.wire.schema import FrameHeader, StreamStatus

Emit = Callable[[Frame], None]
Drop = Callable[[FrameHeader], None]


def _ignore(change: FrameHeader | StreamStatus) -> None:
    """Ignore a dropped frame or a change of state, for consumers that do not follow them."""


@dataclass(frozen=True, slots=True)
class CaptureCallbacks:
    """Callbacks of one capture run.

    ``emit`` takes the frames in order and may block. A file then waits; a live source goes on, and of the frames that
    come meanwhile ``emit`` gets the newest few and ``drop`` the headers of the others: ``seq`` stays unbroken. Both
    are called from one thread (for live sources not the one of ``Capture.run``) and must return in the end after
    ``Capture.stop``. ``status`` is called from the thread of ``Capture.run``, in the order of the changes.
    """

    emit: Emit
    status: Callable[[StreamStatus], None] = _ignore
    drop: Drop = _ignore


OVERRUN = "capture_overrun"
"""The cause of frames that a newer one replaced before they were taken."""


class Blocking:
    """Waits for the consumer; used for sources that lose nothing by waiting."""

    def __init__(self, emit: Emit) -> None:
        self._emit = emit

    def put(self, frame: Frame) -> None:
        """Hand on a frame; raises what the consumer raised."""
        self._emit(frame)

    def close(self) -> None:
        """Do nothing, because nothing is held."""


MOST_WAITING = 3
"""Frames that wait: a network that was slow for a moment hands over several at once."""


class Newest:
    """Never waits; used for sources whose frames grow stale. It holds the newest, each of which replaces the oldest.

    One thread of its own calls ``emit`` and ``drop``, in order of ``seq``.
    """

    def __init__(self, emit: Emit, drop: Drop) -> None:
        self._emit = emit
        self._drop = drop
        self._changed = threading.Condition()
        self._waiting: deque[Frame] = deque()
        self._replaced: list[FrameHeader] = []  # 0.3 KB each: a consumer stuck for an hour costs 25 MB at 25 fps
        self._closed = False
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._hand_on, name="capture-outlet", daemon=True)
        self._thread.start()

    def put(self, frame: Frame) -> None:
        """Offer a frame, at once; raises what the consumer raised."""
        with self._changed:
            if self._error is not None:
                raise self._error
            if len(self._waiting) == MOST_WAITING:
                self._replaced.append(dropped_header(self._waiting.popleft(), OVERRUN))
            self._waiting.append(frame)
            self._changed.notify()

    def close(self) -> None:
        """Wait until the last frame has been handed on; raises what the consumer raised."""
        with self._changed:
            self._closed = True
            self._changed.notify()
        self._thread.join()
        if self._error is not None:
            raise self._error

    def _hand_on(self) -> None:
        try:
            while (taken := self._take()) is not None:
                replaced, frame = taken
                for header in replaced:
                    self._drop(header)
                self._emit(frame)
        except BaseException as error:  # it is raised where the frames come from, put() and close()
            with self._changed:
                self._error = error

    def _take(self) -> tuple[list[FrameHeader], Frame] | None:
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._closed)
            replaced, self._replaced = self._replaced, []
            return (replaced, self._waiting.popleft()) if self._waiting else None
