"""Captures the streams of a query at once, each in a thread of its own, into one publisher."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from functools import partial

from operators.capture.service import Capture, CaptureSpec
from operators.publish.kafka_frames import KafkaFrames
from operators.schema import StreamStatus

FLUSH_S = 8.0
"""After a signal, what is queued is delivered within this time: container engines kill after 10 s."""
POLL_S = 0.2


class Capturing:
    """The running captures. Frames of streams whose overload policy is not ``block`` may lose their images."""

    def __init__(
        self,
        specs: Sequence[CaptureSpec],
        droppable: Sequence[bool],
        sink: KafkaFrames,
        told: Callable[[StreamStatus], None],
    ) -> None:
        """``told`` hears of every change of a stream's state, in the stream's thread."""
        self._sink = sink
        self._told = told
        self.errors: dict[str, Exception] = {}
        """By stream, once ``run`` has returned."""
        self._captures = {
            spec.stream: Capture(spec, partial(sink.emit, droppable=may_drop), self._status, sink.dropped)
            for spec, may_drop in zip(specs, droppable, strict=True)
        }

    def run(self, stop: threading.Event, beat: Callable[[], None]) -> None:
        """Return when all sources have ended or, after ``stop``, have been ended; ``beat`` is called all the while."""
        threads = [
            threading.Thread(target=self._capture, args=item, name=f"capture-{item[0]}", daemon=True)
            for item in self._captures.items()
        ]
        for thread in threads:
            thread.start()
        while any(thread.is_alive() for thread in threads) and not stop.wait(POLL_S):
            beat()
        if stop.is_set():
            self._end()
        for thread in threads:
            while thread.is_alive():
                beat()
                thread.join(POLL_S)

    def _end(self) -> None:
        self._sink.give_up_after(FLUSH_S)
        for capture in self._captures.values():
            capture.stop()

    def _capture(self, stream: str, capture: Capture) -> None:
        try:
            capture.run()
        except Exception as error:  # it ends this stream only, and is raised when the others have ended
            self.errors[stream] = error

    def _status(self, status: StreamStatus) -> None:
        self._sink.status(status)
        self._told(status)
