"""The time for which a live source may be silent before it counts as stalled. Pure."""

from __future__ import annotations

from math import inf
from typing import Final

SLACK: Final = 3.0
"""A source may be silent for so many times its longest pause."""
LONGEST_S: Final = 120.0
"""It may never be silent for longer, however seldom it sends."""
FADING: Final = 1 / 60
"""Seconds by which its longest pause counts less for each second that has passed since."""


class StallWatch:
    """Follows the pace of a source over its connections: a camera that sends one picture a minute has not stalled.

    One that falls silent soon after it was connected may be that slow: the next time it is given twice as long.
    """

    def __init__(self, least_s: float, most_s: float | None = None) -> None:
        """``least_s``: the time that every source has, unless it is given up after ``most_s``."""
        self._most_s = min(max(least_s, LONGEST_S), inf if most_s is None else most_s)
        self._given_s = self._least_s = min(least_s, self._most_s)
        """The time that it has until it has sent for as long."""
        self._first_s: float | None = None
        self._last_s = self._pause_s = 0.0

    @property
    def timeout_s(self) -> float:
        """How long it may be silent now."""
        return max(self._given_s, self._by_pace_s)

    def connected(self) -> None:
        self._first_s, self._pause_s = None, 0.0

    def alive(self, now_s: float) -> None:
        """Note a sign of life, at ``now_s`` on any steady clock."""
        if self._first_s is None:
            self._first_s = self._last_s = now_s
        passed_s, self._last_s = now_s - self._last_s, now_s
        self._pause_s = max(passed_s, self._pause_s - FADING * passed_s)
        if now_s - self._first_s >= self._given_s:
            self._given_s = self._by_pace_s

    def waited(self, now_s: float) -> None:
        """Note that nobody has listened to it until ``now_s``: that was no pause of its own."""
        self._last_s = now_s

    def stalled(self) -> None:
        """Note that it was silent for too long."""
        if self._first_s is not None and self._last_s - self._first_s < self._given_s:
            self._given_s = min(2 * self._given_s, self._most_s)

    @property
    def _by_pace_s(self) -> float:
        return min(max(SLACK * self._pause_s, self._least_s), self._most_s)
