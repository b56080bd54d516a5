"""Derives media time from PyAV's packets and frames, by ``stamp_order`` and ``media_clock``, and says which frames a
decoder may leave out where only some are sampled: those that would not be taken.

The sampler takes the first frame of each interval. A frame is not it if the decoder was given another frame of the same
interval that is shown before it, and need not be decoded unless other frames refer to it, which the decoder knows.
"""

from __future__ import annotations

import time
from collections import deque
from fractions import Fraction
from typing import Any, Final

from operators.capture.sources.media_clock import (
    MAX_BROADCAST_GAP_S,
    MAX_GAP_S,
    REORDERED,
    DecodedTimes,
    MediaClock,
    nominal_interval_s,
    usable,
)
from operators.capture.sources.sampling import interval_of
from operators.capture.sources.stamp_order import StampOrder

_WINDOW: Final = 32
"""More packets than lie between frames that are shown one after the other."""


class Discard:
    """Remembers the stamps of the latest packets of one stream."""

    def __init__(self, fps: float) -> None:
        """``fps``: how many frames are sampled in a second of media time."""
        self._fps = fps
        self._stamps_s: deque[float] = deque(maxlen=_WINDOW)

    def anew(self) -> Discard:
        return Discard(self._fps)

    def is_spare(self, stamp_s: float, offset_s: float) -> bool:
        """Take the stamp of the packet that is decoded next; returns whether its frame will not be sampled.

        ``offset_s``: stamp less media time, as it was for the latest frame.
        """
        interval = interval_of(stamp_s - offset_s, self._fps)
        earlier = (each for each in self._stamps_s if each < stamp_s)
        spare = any(interval_of(each - offset_s, self._fps) == interval for each in earlier)
        self._stamps_s.append(stamp_s)
        return spare


FALLBACK_FPS: Final = 25.0
_TS_DISCONT: Final = 0x0200
"""FFmpeg's flag of formats whose clocks may jump (``AVFMT_TS_DISCONT``)."""
_NO_TIMESTAMPS: Final = 0x0080
"""Its flag of formats without any, as multipart JPEG (``AVFMT_NOTIMESTAMPS``): it then invents 25 frames a second."""


class FrameTimes:
    """Gives each frame of one opened stream its media time; it is given each packet before that is decoded."""

    def __init__(
        self, stream: Any, *, keyframes: bool = False, endless: bool = False, fps: float | None = None
    ) -> None:
        """``keyframes``: the decoder skips all other frames; ``endless``: frames come as fast as they happen.

        ``fps``: the rate at which frames are sampled; None: all.
        """
        self.interval_s = _interval_s(stream)
        self._time_base: Fraction = stream.time_base
        self._endless = endless
        flags = stream.container.format.flags
        self.jumps = bool(flags & _TS_DISCONT)
        """Whether its clock may: no header then says how long it is."""
        self._by_arrival = endless and bool(flags & _NO_TIMESTAMPS)
        self._order = StampOrder(sorts=not keyframes)
        max_gap_s = MAX_BROADCAST_GAP_S if self.jumps else MAX_GAP_S
        self._clock = MediaClock(self.interval_s, max_gap_s, 0 if keyframes else REORDERED)
        self._counts = keyframes
        self._discard = None if fps is None else Discard(fps)
        self._offset_s: float | None = None
        self._packets_s = 0.0
        self._key_packets_s: deque[float] = deque(maxlen=64)
        self._counted_s = 0.0
        self._shown_s: float | None = None
        """How long the latest frame is to be shown."""
        self._first_s: float | None = None
        self.stamped_s = 0.0
        """Time from 0 to the latest stamp on the source's own clock, or from the first one if that is earlier."""

    def fed(self, packet: Any) -> None:
        """Take a packet that is about to be decoded."""
        stamp_s = self._seconds(packet.pts)
        if stamp_s is not None and usable(stamp_s):
            self._order.fed(stamp_s)
        if self._counts:
            if packet.is_keyframe:
                self._key_packets_s.append(self._packets_s)
            self._packets_s += self._seconds(packet.duration) or self.interval_s

    def is_spare(self, packet: Any) -> bool:
        """Whether the frame of the packet that is decoded next will not be sampled, as far as is known."""
        stamp_s = self._seconds(packet.pts)
        if self._discard is None or self._offset_s is None or stamp_s is None or not usable(stamp_s):
            return False
        return self._discard.is_spare(stamp_s, self._offset_s) and self._order.trusted and not packet.is_keyframe

    def place(self, frame: Any) -> float:
        """Return the media time of the next decoded frame."""
        pts_s, dts_s = self._seconds(frame.pts), self._seconds(frame.dts)
        if pts_s is not None and usable(pts_s):
            pts_s = self._order.shown(pts_s, key=frame.key_frame)
            self._first_s = min(pts_s, 0.0) if self._first_s is None else self._first_s
            self.stamped_s = pts_s - self._first_s
        since_s, self._shown_s = self._shown_s, self._seconds(frame.duration)
        if self._key_packets_s:  # it was shown until the frames that were skipped had been, too
            before_s, self._counted_s = self._counted_s, self._key_packets_s.popleft()
            since_s = self._counted_s - before_s
        placed_s = self._clock.place(
            DecodedTimes(
                pts_s=pts_s,
                dts_s=None if self._counts else dts_s,
                since_s=since_s,
                arrival_s=time.monotonic() if self._endless else None,
            )
        )
        self._offset_s = None if pts_s is None or not usable(pts_s) else pts_s - placed_s
        return placed_s

    def stamp_s(self, media_time_s: float) -> float | None:
        """The stamp of a frame at this media time; None where that is not known: no stamps yet, or they may jump."""
        if self._offset_s is None or self.jumps:
            return None
        return media_time_s + self._offset_s

    def moved(self) -> None:
        """Note that the next packet may lie anywhere in the source."""
        self._order = StampOrder(sorts=not self._counts)
        self._discard = None if self._discard is None else self._discard.anew()
        self._clock.moved()
        self._key_packets_s.clear()

    def _seconds(self, ticks: int | None) -> float | None:
        if ticks is None or self._by_arrival:
            return None
        return ticks * self._time_base.numerator / self._time_base.denominator


def _interval_s(stream: Any) -> float:
    rates = [stream.average_rate, stream.guessed_rate, stream.base_rate]
    return nominal_interval_s([float(rate) if rate else None for rate in rates], FALLBACK_FPS)
