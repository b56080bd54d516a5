"""When a frame was captured, on this process's monotonic clock; what everything about deadlines is counted from."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Final

from operators.wire.schema import FrameHeader
from serving.common.clock import Clock

EARLY_S: Final = 0.5
"""How much earlier than captured a frame may seem to arrive: clocks that are kept right differ by far less."""
STEP_S: Final = 0.5
"""A clock that differs by less from what was expected was not set."""
AGREE_S: Final = 2.0
"""Clocks that differ by no more agree again."""
SUSPECT_S: Final = 60.0
LONGEST_S: Final = 12 * 3600.0
"""An age beyond this is no longer given as known."""
WATCHED_S: Final = 10.0
WATCHED_FRAMES: Final = 5
"""Frames that must come at the pace of their capture, over ``WATCHED_S`` at least, before their age is doubted."""
FASTER: Final = 1.5
"""Frames that come at this multiple of the pace of their capture have waited."""
DRIFT: Final = 2e-4
"""How much faster one clock may run than the other."""


@dataclass(frozen=True, slots=True)
class Arrival:
    """One frame as it arrives; seconds."""

    run: str
    seq: int
    captured_s: float
    """Time of day by the clock of capture."""
    media_time_s: float
    day_s: float
    """Time of day by the clock of this machine."""
    passed_s: float
    """Time that passed since some moment, by a clock that cannot be set and counts while the machine sleeps."""
    idle: bool
    """Nothing of the stream waited or was analysed when it came."""

    @property
    def age_s(self) -> float:
        return self.day_s - self.captured_s


@dataclass(frozen=True, slots=True)
class Age:
    """How old a frame is, in seconds; where that is not ``known``, an estimate of how long it waited."""

    age_s: float
    known: bool


class ArrivalClock:
    """Tells the age of one stream's frames, which come in the order of their capture."""

    def __init__(self) -> None:
        self._last: Arrival | None = None
        self._apart_s: float | None = None
        """Age of frames that did not wait, by clocks that disagree; None while they agree."""
        self._watched: Arrival | None = None
        """The first of the old frames that came at the pace of their capture."""
        self._frames = 0
        """How many there were."""

    def read(self, seen: Arrival) -> Age:
        """The age of the next frame, or of one that was seen before, which teaches nothing."""
        if self._last is None or seen.run != self._last.run or seen.seq > self._last.seq:
            self._learn(seen)
            self._last = seen
        if self._apart_s is None:
            return Age(max(0.0, seen.age_s), seen.age_s <= LONGEST_S)
        return Age(max(0.0, seen.age_s - self._apart_s), False)

    def _learn(self, seen: Arrival) -> None:
        if self._last is not None:
            self._follow(seen, self._last)
        if (self._apart_s is None and seen.age_s < -EARLY_S) or self._comes_at_once(seen):
            self._apart_s = seen.age_s
        if self._apart_s is not None:
            self._apart_s = min(self._apart_s, seen.age_s)
            self._apart_s = None if -EARLY_S <= self._apart_s <= AGREE_S else self._apart_s

    def _follow(self, seen: Arrival, last: Arrival) -> None:
        """Take in what happened to the clocks since the last frame."""
        if self._apart_s is not None:
            self._apart_s += DRIFT * max(0.0, seen.passed_s - last.passed_s)
        set_s = _set(seen, last)
        if set_s:
            self._apart_s = (self._apart_s or 0.0) + set_s
        elif seen.run != last.run and self._apart_s is not None and abs(seen.age_s - self._apart_s) > AGREE_S:
            self._apart_s = None  # another machine, or the same one with its clock put right: judged anew

    def _comes_at_once(self, seen: Arrival) -> bool:
        """Whether old frames come as if they had not waited."""
        if self._apart_s is not None or not seen.idle or seen.age_s <= SUSPECT_S:
            self._watched = None
            return False
        if self._watched is None or not _in_pace(self._watched, seen):
            self._watched, self._frames = seen, 0
        self._frames += 1
        return self._frames >= WATCHED_FRAMES and seen.passed_s - self._watched.passed_s >= WATCHED_S


def _set(seen: Arrival, last: Arrival) -> float:
    """By how much the age grew because one of the clocks was set; 0 if none was."""
    ours_s = (seen.day_s - last.day_s) - (seen.passed_s - last.passed_s)
    back_s = last.captured_s - seen.captured_s if seen.run == last.run else 0.0
    theirs_s = back_s + max(0.0, seen.media_time_s - last.media_time_s) if back_s > STEP_S else 0.0
    return (ours_s if abs(ours_s) > STEP_S else 0.0) + theirs_s


def _in_pace(first: Arrival, seen: Arrival) -> bool:
    """Whether frames come no faster than they were captured, but for what the network holds up."""
    if seen.run != first.run:
        return False
    return seen.captured_s - first.captured_s <= FASTER * (seen.passed_s - first.passed_s) + 1.0


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
