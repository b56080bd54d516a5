"""Media time that never goes back: over missing and broken time stamps, loops and reconnects."""

from __future__ import annotations


class Timeline:
    """Places frames in seconds from the first one.

    ``interval_s`` is the nominal time between frames, used where the source gives no usable time.
    """

    def __init__(self, interval_s: float) -> None:
        self._interval_s = interval_s
        self._offset_s: float | None = None
        self._last_s: float | None = None

    def place(self, source_s: float | None) -> float:
        """Media time of the next frame, whose time stamp is ``source_s`` on the source's own clock."""
        expected_s = 0.0 if self._last_s is None else self._last_s + self._interval_s
        if source_s is None:
            placed_s = expected_s
        else:
            if self._offset_s is None or (self._last_s is not None and source_s + self._offset_s <= self._last_s):
                self._offset_s = expected_s - source_s
            placed_s = source_s + self._offset_s
        self._last_s = placed_s
        return placed_s

    def restart(self, gap_s: float) -> None:
        """The next frame starts a new clock, ``gap_s`` after the last frame (one interval at the least)."""
        self._offset_s = None
        if self._last_s is not None:
            self._last_s += max(0.0, gap_s - self._interval_s)
