"""``sluice capture``: the frames of all streams into the topic of frames."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import Future
from functools import partial

from operators.capture.consumer import CaptureCallbacks
from operators.capture.spec import CaptureSpec
from operators.observer import UNOBSERVED, Observers
from operators.publish.kafka_frames import KafkaFrames
from pipelines.run.captures import Captures

FLUSH_S = 6.0
"""After a signal, what is queued is delivered within this time: container engines kill after 10 s."""
POLL_S = 0.2


def captured(
    specs: Sequence[CaptureSpec], sink: KafkaFrames, droppable: Collection[str], observers: Observers = UNOBSERVED
) -> Captures:
    """The captures into the topic; frames of ``droppable`` streams may lose their images where the broker is slow."""

    def consumer(spec: CaptureSpec) -> CaptureCallbacks:
        return CaptureCallbacks(partial(sink.emit, droppable=spec.stream in droppable), sink.status, sink.dropped)

    return Captures(specs, consumer, observer=observers)


def deliver(
    captures: Captures, sink: KafkaFrames, stop: threading.Event, beat: Callable[[], None], patience_s: float
) -> dict[str, Exception]:
    """Capture until all sources have ended and their frames are delivered; returns the errors, by stream.

    Frames are given up when the broker is silent for ``patience_s``. After ``stop`` the sources are ended and
    ``FLUSH_S`` counts. ``beat`` is called all the while.
    """
    running = captures.start()
    while not _over(running.values(), sink, patience_s):
        beat()
        if stop.is_set():
            sink.give_up_after(FLUSH_S)
            captures.stop()
    errors = {stream: ended.exception() for stream, ended in running.items()}
    return {stream: error for stream, error in errors.items() if isinstance(error, Exception)}


def _over(running: Collection[Future[None]], sink: KafkaFrames, patience_s: float) -> bool:
    """Waits a moment for it."""
    for ended in running:
        try:
            ended.exception(POLL_S)
        except TimeoutError:
            return False
    sink.give_up_when_silent(patience_s)
    return sink.drained(POLL_S)
