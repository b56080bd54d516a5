"""The captures of a query's streams, each in a thread of its own; ``sluice capture`` puts their frames on the topic."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import Future
from functools import partial
from typing import TYPE_CHECKING

from operators.capture.outlet import CaptureCallbacks
from operators.capture.service import STOPPED, Capture
from operators.capture.spec import CaptureSpec
from operators.observer import UNOBSERVED, Observer, Observers
from operators.wire.schema import StreamStatus
from serving.common.clock import SYSTEM, Clock
from serving.common.threads import step_back
from serving.errors import SourceError

if TYPE_CHECKING:
    from operators.publish.kafka_frames import KafkaFrames

log = logging.getLogger(__name__)

FLUSH_S = 6.0
"""After a signal, what is queued is delivered within this time: container engines kill after 10 s."""
POLL_S = 0.2


class Captures:
    """Runs all of them at once; one that fails does not disturb the others."""

    def __init__(
        self,
        specs: Sequence[CaptureSpec],
        consumer: Callable[[CaptureSpec], CaptureCallbacks],
        clock: Clock = SYSTEM,
        observer: Observer = UNOBSERVED,
    ) -> None:
        """``consumer`` makes what takes the frames of a stream."""
        self._background = {spec.stream for spec in specs if spec.background}
        self._captures = {spec.stream: Capture(spec, consumer(spec), None, clock, observer) for spec in specs}

    def start(self) -> dict[str, Future[None]]:
        """Begin; a stream's future is done when its frames have been handed on, or raises what the capture raised."""
        return {
            stream: _in_thread(f"capture-{stream}", capture.run, stream in self._background)
            for stream, capture in self._captures.items()
        }

    def stop(self) -> None:
        """End all soon, from any thread."""
        for capture in self._captures.values():
            capture.stop()


def _in_thread(name: str, work: Callable[[], None], background: bool) -> Future[None]:
    done: Future[None] = Future()
    done.set_running_or_notify_cancel()

    def run() -> None:
        try:
            if background:
                step_back()
            work()
        except Exception as error:
            done.set_exception(error)
        else:
            done.set_result(None)

    threading.Thread(target=run, name=name, daemon=True).start()
    return done


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


def raise_first(ended: Mapping[str, BaseException | None]) -> None:
    """Raise the first error of streams, which decides how a run ends."""
    for stream, error in ended.items():
        if isinstance(error, SourceError):
            raise SourceError(f"stream {stream}: {error}", error.reason)
        if error is not None:
            raise error


class StateLog(Observer):
    """Logs states of streams: as warnings those that are not as they should be."""

    def stream_state_changed(self, status: StreamStatus) -> None:
        reason = f" ({status.reason})" if status.reason else ""
        message = f": {status.message}" if status.message else ""
        said = f"stream {status.stream}: {status.state}{reason}, {status.frames} frames{message}"
        log.log(logging.INFO if status.message in (None, STOPPED) else logging.WARNING, "%s", said)
