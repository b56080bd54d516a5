"""The captures of a query's streams, each in a thread of its own."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future

from operators.capture.service import Capture, CaptureCallbacks
from operators.capture.spec import CaptureSpec
from operators.observer import UNOBSERVED, Observer
from serving.common.clock import SYSTEM, Clock


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
        self._captures = {spec.stream: Capture(spec, consumer(spec), None, clock, observer) for spec in specs}

    def start(self) -> dict[str, Future[None]]:
        """Begin; a stream's future is done when its frames have been handed on, or raises what the capture raised."""
        return {stream: _in_thread(f"capture-{stream}", capture.run) for stream, capture in self._captures.items()}

    def stop(self) -> None:
        """End all soon, from any thread."""
        for capture in self._captures.values():
            capture.stop()


def _in_thread(name: str, work: Callable[[], None]) -> Future[None]:
    done: Future[None] = Future()
    done.set_running_or_notify_cancel()

    def run() -> None:
        try:
            work()
        except Exception as error:
            done.set_exception(error)
        else:
            done.set_result(None)

    threading.Thread(target=run, name=name, daemon=True).start()
    return done
