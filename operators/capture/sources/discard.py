"""Which frames a decoder may leave out where only some are sampled: those that would not be taken. Pure.

The sampler takes the first frame of each interval. A frame is not it if the decoder was given another frame of the same
interval that is shown before it, and need not be decoded unless other frames refer to it, which the decoder knows.
"""

from __future__ import annotations

from collections import deque
from typing import Final

from operators.capture.sources.sampling import interval_of

_WINDOW: Final = 32
"""More packets than lie between frames that are shown one after the other."""


class Discard:
    """Remembers the stamps of the latest packets of one stream."""

    def __init__(self, fps: float) -> None:
        """``fps``: how many frames are sampled in a second of media time."""
        self._fps = fps
        self._stamps_s: deque[float] = deque(maxlen=_WINDOW)

    def is_spare(self, stamp_s: float, offset_s: float) -> bool:
        """Take the stamp of the packet that is decoded next; returns whether its frame will not be sampled.

        ``offset_s``: stamp less media time, as it was for the latest frame.
        """
        interval = interval_of(stamp_s - offset_s, self._fps)
        earlier = (each for each in self._stamps_s if each < stamp_s)
        spare = any(interval_of(each - offset_s, self._fps) == interval for each in earlier)
        self._stamps_s.append(stamp_s)
        return spare
