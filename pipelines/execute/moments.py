"""When a frame was captured, on this process's monotonic clock; what everything about deadlines is counted from."""

from __future__ import annotations

import logging
from dataclasses import dataclass

from operators.wire.schema import FrameHeader
from pipelines.execute.arrival_clock import Arrival, ArrivalClock
from serving.common.clock import Clock

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Moment:
    """When a frame was captured: seconds on the monotonic clock."""

    captured_s: float
    known: bool = True
    """False: the clocks of capture and worker disagree, and this is when the frame began to wait."""


class Moments:
    """Finds the moments of frames, and logs when a stream's clock cannot be believed and when it can again."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._arrivals: dict[str, ArrivalClock] = {}
        self._doubted: set[str] = set()

    def of(self, header: FrameHeader, *, idle: bool) -> Moment:
        """The moment of a frame that arrives now; ``idle``: nothing of its stream waits or is analysed."""
        now, monotonic_s = self._clock.now(), self._clock.monotonic_s()
        seen = Arrival(
            run=header.run,
            seq=header.seq,
            captured_s=header.captured_at.timestamp(),
            media_time_s=header.media_time_s,
            day_s=now.timestamp(),
            passed_s=self._clock.passed_s(),
            idle=idle,
        )
        age = self._arrivals.setdefault(header.stream, ArrivalClock()).read(seen)
        self._log(header.stream, age.known, seen.age_s)
        return Moment(monotonic_s - age.age_s, age.known)

    def forget(self, stream: str) -> None:
        """The stream's partition moved away."""
        self._arrivals.pop(stream, None)
        self._doubted.discard(stream)

    def _log(self, stream: str, known: bool, age_s: float) -> None:
        if known and stream in self._doubted:
            self._doubted.discard(stream)
            log.info("stream %s: the clocks of its capture and of this worker agree again", stream)
        elif not known and stream not in self._doubted:
            self._doubted.add(stream)
            log.warning(
                "stream %s: by the clocks its frames come %.1f s %s they are captured, so their latency is not known; "
                "let NTP set the clocks of capture and worker",
                stream,
                abs(age_s),
                "after" if age_s > 0 else "before",
            )
