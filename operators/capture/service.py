"""Captures one stream: opens its source, hands on its frames, reports its states.

capture = Capture(CaptureSpec(stream="gate", uri=SourceUri("rtsp://…")), Consumer(emit=print, status=print))
capture.run()  # in a thread of its own; capture.stop() from anywhere
"""

from __future__ import annotations

import random
from contextlib import closing
from typing import cast

from operators.capture.lead_in import PlaceLost
from operators.capture.live.reader import LiveReader
from operators.capture.outlet import CaptureCallbacks
from operators.capture.run import CaptureRun
from operators.capture.sources.failures import Reason
from operators.capture.sources.open import open_source
from operators.capture.spec import CaptureSpec
from operators.observer import UNOBSERVED, Observer
from serving.common.clock import SYSTEM, Clock
from serving.errors import SourceError

STOPPED = "stopped"
"""The message of a stream whose capture was told to end; every other message says what is amiss."""


def read_local(run: CaptureRun) -> str | None:
    """Read the source to its end, repeatedly if the spec says so. Returns a note for people.

    ``SourceError`` if the source cannot be opened or breaks.
    """
    spec, from_s = run.spec, run.lead_in.from_s
    while True:
        try:
            with closing(open_source(spec.uri, spec.sampling, spec.max_width, run.hardware, from_s)) as source:
                empty = True
                for picture in source.pictures():
                    empty = False
                    run.accept(picture)
                    if run.done:
                        return None
                run.lead_in.over()
                if empty or not spec.loop:
                    return source.summary()
                run.rewound(source.interval_s)
        except PlaceLost as lost:
            if not from_s:
                raise SourceError(f"{spec.uri}: it is not what it was: {lost}", "error") from None
            from_s = 0.0  # its index leads elsewhere: read it all
            run.again()


class Capture:
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
        run.report("ended", None, STOPPED if run.stopped.is_set() else summary)

    def stop(self) -> None:
        """Make ``run`` return soon, from any thread, even when the source hangs."""
        self._run.stopped.set()
        if self._live:
            self._live.interrupt()
