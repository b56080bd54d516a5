"""Joins the pieces of a run, one for each connection or loop, into one media time."""

from __future__ import annotations

from typing import Final

_STEP_S: Final = 0.001
"""The least time between two pieces."""


class Pieces:
    """Places pictures in seconds from the run's first one; within a piece their times only rise."""

    def __init__(self) -> None:
        self._offset_s: float | None = None
        self._starts_s = 0.0
        self._last_s: float | None = None

    def place(self, source_s: float) -> float:
        """Return the media time of the next picture, which lies at ``source_s`` within its piece."""
        if self._offset_s is None:
            self._offset_s = self._starts_s - source_s
        self._last_s = source_s + self._offset_s
        return self._last_s

    def restart(self, gap_s: float) -> None:
        """Begin a new piece with the next picture, ``gap_s`` after the last one."""
        self._offset_s = None
        if self._last_s is not None:
            self._starts_s = self._last_s + max(_STEP_S, gap_s)
