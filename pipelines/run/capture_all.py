"""Captures the streams of a query at once, each in a thread of its own, into one publisher."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from functools import partial

from operators.capture.service import Capture, CaptureSpec, Consumer
from operators.observer import UNOBSERVED, Observers
from operators.publish.kafka_frames import KafkaFrames

FLUSH_S = 6.0
"""After a signal, what is queued is delivered within this time: container engines kill after 10 s."""
POLL_S = 0.2


class Capturing:
    """The running captures. Frames of streams whose overload policy is not ``block`` may lose their images."""

    def __init__(
        self,
        specs: Sequence[CaptureSpec],
        droppable: Sequence[bool],
        sink: KafkaFrames,
        observers: Observers = UNOBSERVED,
    ) -> None:
        self._sink = sink
        self.errors: dict[str, Exception] = {}
        """By stream, once ``run`` has returned."""
        self._captures = {
            spec.stream: Capture(spec, _consumer(sink, may_drop), observer=observers)
            for spec, may_drop in zip(specs, droppable, strict=True)
        }

    def run(self, stop: threading.Event, beat: Callable[[], None], patience_s: float) -> None:
        """Return when all sources have ended and their frames are delivered.

        They are given up when the broker is silent for ``patience_s``. After ``stop`` the sources are ended and
        ``FLUSH_S`` counts. ``beat`` is called all the while.
        """
        threads = [
            threading.Thread(target=self._capture, args=item, name=f"capture-{item[0]}", daemon=True)
            for item in self._captures.items()
        ]
        for thread in threads:
            thread.start()
        while not self._over(threads, patience_s):
            beat()
            if stop.is_set():
                self._sink.give_up_after(FLUSH_S)
                for capture in self._captures.values():
                    capture.stop()

    def _over(self, threads: Sequence[threading.Thread], patience_s: float) -> bool:
        """Waits a moment for it."""
        for thread in threads:
            thread.join(POLL_S)
            if thread.is_alive():
                return False
        self._sink.give_up_when_silent(patience_s)
        return self._sink.drained(POLL_S)

    def _capture(self, stream: str, capture: Capture) -> None:
        try:
            capture.run()
        except Exception as error:  # it ends this stream only, and is raised when the others have ended
            self.errors[stream] = error


def _consumer(sink: KafkaFrames, droppable: bool) -> Consumer:
    return Consumer(partial(sink.emit, droppable=droppable), sink.status, sink.dropped)
