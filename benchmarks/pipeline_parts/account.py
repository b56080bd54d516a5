"""Where a worker's processor time goes: into the work itself, or into all that is around it.

The work is what the floor does too: decoding, background subtraction, tracking, cutting out, networks. Its functions
are timed while the worker runs them, each by the clock of the thread that calls it. What the process's Python threads
spend beside that is the framework. Threads of libraries (video decoders, networks) do nothing but work.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from functools import wraps
from pathlib import Path
from typing import Any

from operators import inference
from operators.capture.sources.decode import VideoReader
from operators.detect.motion import Background
from operators.recognise import classifier, recogniser
from operators.track.tracker import KalmanTracker
from pipelines.partition import answer as intake
from serving.engines.session import SessionSegment

WORK: tuple[tuple[Any, str], ...] = (
    (intake, "decode_frame"),
    (Background, "boxes"),
    (KalmanTracker, "update"),
    (recogniser, "cut"),
    (inference, "batch"),
    (SessionSegment, "run"),
    (classifier, "probabilities"),
)


class Account:
    """Keeps it for this process from now on; make one. ``threads`` gives those that count."""

    def __init__(self, threads: Callable[[], Iterable[threading.Thread]] = threading.enumerate) -> None:
        self._threads, self._work_s = threads, 0.0
        self._lock = threading.Lock()
        for owner, name in WORK:
            setattr(owner, name, self._timed(getattr(owner, name)))
        VideoReader.pictures = self._timed_iterator(VideoReader.pictures)  # type: ignore[method-assign]

    def framework_s(self) -> float:
        """Processor time of all Python threads so far, less what they spent on the work."""
        with self._lock:
            return sum(map(_processor_s, self._threads())) - self._work_s

    def _timed(self, work: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(work)
        def timed(*arguments: Any, **options: Any) -> Any:
            started_s = time.thread_time()
            try:
                return work(*arguments, **options)
            finally:
                self._add(time.thread_time() - started_s)

        return timed

    def _timed_iterator(self, work: Callable[..., Iterator[Any]]) -> Callable[..., Iterator[Any]]:
        @wraps(work)
        def timed(*arguments: Any) -> Iterator[Any]:
            items, end = work(*arguments), object()
            following = self._timed(next)
            while (item := following(items, end)) is not end:
                yield item

        return timed

    def _add(self, seconds: float) -> None:
        with self._lock:
            self._work_s += seconds


def _processor_s(thread: threading.Thread) -> float:
    """As Linux counts it, to the nanosecond; nothing for a thread that has just ended."""
    try:
        return int(Path(f"/proc/self/task/{thread.native_id}/schedstat").read_text().split()[0]) / 1e9
    except OSError:
        return 0.0
