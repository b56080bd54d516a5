"""Media time: the seconds between a source's first frame and each later one, from whatever the source says of time.

Little that sources say can be relied on. For each decoded frame, in the order of showing, the clock takes what it gets:

* ``pts_s``: the presentation time stamp, in order (``stamp_order``). Where there is one, it is followed.
* ``dts_s``: the decoding time stamp of the packet that brought the frame out; its steps are followed where there is no
  presentation time stamp.
* ``since_s``: how long the frame before is to be shown. Where there is no stamp at all, or the stamps stand still or
  jump, the frame follows after that; where there is none either, after the source's nominal interval.
* ``arrival_s``: when the frame of a live source came, on this machine's monotonic clock. It takes the place of
  durations and intervals, and shows up stamps that run away: nothing can be received long before it has happened.

What comes out rises with every frame, whatever goes in. It differs from the truth by less than a frame where the stamps
are right, and after they jump it goes on from the frame before:

* a step back by less than ``REORDERED`` frames is taken for frames that are slightly out of order: they are put close
  behind each other until the stamps have caught up, so that no time is gained or lost; what stays behind is a jump;
* a step back by about 2³³ or 2³² ticks of 90 kHz is the wrapped clock of MPEG or RTP, and goes on without a gap;
* any other step back is a jump, and so is a step forward of more than ``max_gap_s``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

REORDERED: Final = 16
"""Frames that a decoder may hold back, by the standards."""
_WRAPS_S: Final = (2**33 / 90_000, 2**32 / 90_000)
"""Periods after which the clocks of MPEG-TS and of RTP for video begin again."""
_NEAR_WRAP_S: Final = 10.0
"""How far apart two frames at a clock's wrap may be."""
_LATEST_S: Final = 1e9
"""A stamp beyond 31 years on either side of 0 is damaged."""
_CLOSE: Final = 0.01
"""Part of a frame's time that is left between frames that wait for their stamps to catch up."""
SHORTEST_S: Final = 0.001
LONGEST_S: Final = 60.0
"""A frame that is said to be shown for less or more than this is not believed."""
MAX_GAP_S: Final = 24 * 3600.0
"""Largest gap in a file: a recorder that waits for movement may leave hours out."""
MAX_BROADCAST_GAP_S: Final = 10.0
"""Largest gap in live sources, beyond the time that passed, and in formats such as MPEG-TS whose clocks may jump."""
_AHEAD_S: Final = 60.0
"""A live source sends no more than this at once when it is opened: the segments or the pictures since a key frame."""


@dataclass(frozen=True, slots=True)
class DecodedTimes:
    """The times of one frame, in seconds, as far as they are known."""

    pts_s: float | None = None
    dts_s: float | None = None
    since_s: float | None = None
    arrival_s: float | None = None


class MediaClock:
    """Places decoded frames in seconds from the first one; each later than the one before."""

    def __init__(self, interval_s: float, max_gap_s: float = MAX_GAP_S, reordered: int = REORDERED) -> None:
        """``interval_s``: nominal time between frames, used where nothing else is known.

        ``reordered``: frames by which stamps may step back without a jump.
        """
        self._interval_s = interval_s
        self._max_gap_s, self._reordered = max_gap_s, reordered
        self._last = DecodedTimes()
        self._stamp_s: float | None = None
        self._by_pts = True
        self._offset_s = 0.0
        self._repeated = self._behind = 0
        self._first_arrival_s: float | None = None
        self._placed_s: float | None = None
        self._moved = False

    def place(self, times: DecodedTimes) -> float:
        """Return the media time of the next frame."""
        stamp_s, by_pts = _stamp(times)
        if self._placed_s is None:
            placed_s, self._first_arrival_s = 0.0, times.arrival_s
            if stamp_s is not None:
                self._begin(stamp_s, by_pts, placed_s)
        elif self._moved and stamp_s is not None and by_pts == self._by_pts:
            placed_s, self._stamp_s = stamp_s + self._offset_s, stamp_s
            self._repeated = self._behind = 0
        else:
            placed_s = max(self._next(stamp_s, by_pts, times), math.nextafter(self._placed_s, math.inf))
        self._placed_s, self._last, self._moved = placed_s, times, False
        return placed_s

    def moved(self) -> None:
        """Note that the next frame lies where its stamp says, be that before the last one."""
        self._moved = True

    def _next(self, stamp_s: float | None, by_pts: bool, times: DecodedTimes) -> float:
        assert self._placed_s is not None
        if stamp_s is None:
            return self._placed_s + self._frame_s(times)
        if self._stamp_s is None or (
            by_pts and not self._by_pts
        ):  # RTSP gives the first frame no stamp, and sends what follows right behind it
            return self._begin(stamp_s, by_pts, self._placed_s + self._first_s(times))
        if by_pts != self._by_pts:
            return self._jump(stamp_s, by_pts, times)
        step_s = stamp_s - self._stamp_s
        if step_s == 0:
            return self._stand(times)
        self._repeated = 0
        if wrap_s := _wrapped(step_s):
            self._offset_s += wrap_s
            step_s += wrap_s
        self._stamp_s = stamp_s
        due_s = stamp_s + self._offset_s
        if self._is_jump(step_s, due_s, times):
            return self._jump(stamp_s, by_pts, times)
        return self._rise(due_s, stamp_s, by_pts, times)

    def _rise(self, due_s: float, stamp_s: float, by_pts: bool, times: DecodedTimes) -> float:
        """Place the frame where its stamp says, or close behind the last frame until the stamps catch up."""
        assert self._placed_s is not None
        if due_s > self._placed_s:
            self._behind = 0
            return due_s
        self._behind += 1
        frame_s = self._frame_s(times)
        if self._behind > self._reordered or self._placed_s - due_s > self._reordered * frame_s:
            return self._jump(stamp_s, by_pts, times)
        return self._placed_s + _CLOSE * frame_s

    def _stand(self, times: DecodedTimes) -> float:
        """Place a frame that repeats the stamp before: first two frames share a stamp, later the clock stands still."""
        assert self._placed_s is not None
        self._repeated += 1
        return self._placed_s + self._frame_s(times) * (0.5 if self._repeated == 1 else 1.0)

    def _is_jump(self, step_s: float, due_s: float, times: DecodedTimes) -> bool:
        if times.arrival_s is None or self._last.arrival_s is None or self._first_arrival_s is None:
            return step_s > self._max_gap_s
        passed_s = max(0.0, times.arrival_s - self._last.arrival_s)
        early_s = due_s - (times.arrival_s - self._first_arrival_s)
        runs_away = step_s > passed_s and early_s > _AHEAD_S
        return runs_away or min(step_s - passed_s, early_s) > MAX_BROADCAST_GAP_S

    def _jump(self, stamp_s: float, by_pts: bool, times: DecodedTimes) -> float:
        """Let the stamps begin anew, one frame after the last."""
        assert self._placed_s is not None
        return self._begin(stamp_s, by_pts, self._placed_s + self._frame_s(times))

    def _begin(self, stamp_s: float, by_pts: bool, placed_s: float) -> float:
        """Count stamps from this one, which is placed at ``placed_s``."""
        self._behind = 0
        self._stamp_s, self._by_pts, self._offset_s = stamp_s, by_pts, placed_s - stamp_s
        return placed_s

    def _frame_s(self, times: DecodedTimes) -> float:
        """The time between the last frame and this one, without stamps."""
        if times.arrival_s is not None and self._last.arrival_s is not None:
            return max(SHORTEST_S, times.arrival_s - self._last.arrival_s)
        return self._said_s(times)

    def _first_s(self, times: DecodedTimes) -> float:
        """The time between the last frame, which had no stamp to follow, and the first that has."""
        if usable(times.dts_s) and usable(self._last.dts_s):
            step_s = (times.dts_s or 0.0) - (self._last.dts_s or 0.0)
            return step_s if SHORTEST_S <= step_s <= LONGEST_S else self._said_s(times)
        return self._said_s(times)

    def _said_s(self, times: DecodedTimes) -> float:
        """How long the last frame is to be shown."""
        said_s = times.since_s
        return said_s if said_s is not None and SHORTEST_S <= said_s <= LONGEST_S else self._interval_s


def _stamp(times: DecodedTimes) -> tuple[float | None, bool]:
    """The stamp to follow, and whether it is a presentation time stamp."""
    if usable(times.pts_s):
        return times.pts_s, True
    return (times.dts_s, False) if usable(times.dts_s) else (None, True)


def usable(stamp_s: float | None) -> bool:
    """Whether it can be a time stamp."""
    return stamp_s is not None and abs(stamp_s) <= _LATEST_S  # false for NaN


def _wrapped(step_s: float) -> float:
    """The period of the clock that began again with this step; 0 if none did."""
    return next((wrap_s for wrap_s in _WRAPS_S if 0 < step_s + wrap_s <= _NEAR_WRAP_S), 0.0)


def nominal_interval_s(rates: list[float | None], fallback: float) -> float:
    """The time between frames by the first of the rates (frames per second) that can be believed."""
    likely = (rate for rate in rates if rate is not None and 1 / LONGEST_S <= rate < 1 / SHORTEST_S)
    return 1.0 / next(likely, fallback)
