"""Captures one stream: opens its source, hands on its frames, reports its states.

capture = Capture(CaptureSpec(stream="gate", uri=SourceUri("rtsp://…")), Consumer(emit=print, status=print))
capture.run()  # in a thread of its own; capture.stop() from anywhere
"""

from __future__ import annotations

import random
from typing import cast

from operators.capture.consumer import CaptureCallbacks
from operators.capture.live.reader import LiveReader
from operators.capture.local import read_local
from operators.capture.reasons import Reason
from operators.capture.run import CaptureRun
from operators.capture.spec import CaptureSpec
from operators.observer import UNOBSERVED, Observer
from serving.common.clock import SYSTEM, Clock
from serving.errors import SourceError

__all__ = ["Capture", "CaptureCallbacks", "CaptureSpec"]


class Capture:
    """One capture run."""

    def __init__(
        self,
        spec: CaptureSpec,
        consumer: CaptureCallbacks,
        rng: random.Random | None = None,
        clock: Clock = SYSTEM,
        observer: Observer = UNOBSERVED,
    ) -> None:
        self._run = CaptureRun(spec, consumer, clock, observer)
        self._live = LiveReader(self._run, rng or random.Random()) if spec.uri.live else None

    def run(self) -> None:
        """Capture until the source ends, ``limit`` is reached or ``stop`` is called. ``SourceError`` if it fails.

        All frames have been handed on when it returns. What ``emit`` raises ends the run and is raised here.
        """
        run = self._run
        run.report("starting")
        try:
            try:
                summary = self._live.read() if self._live else read_local(run)
            finally:
                run.close()
        except SourceError as error:
            run.report("failed", cast(Reason, error.reason), str(error))
            raise
        except Exception as error:
            run.report("failed", "error", f"frames could not be handed on: {error}")
            raise
        run.report("ended", None, "stopped" if run.stopped.is_set() else summary)

    def stop(self) -> None:
        """Make ``run`` return soon, from any thread, even when the source hangs."""
        self._run.stopped.set()
        if self._live:
            self._live.interrupt()
