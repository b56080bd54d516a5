"""When the frames of a stream are kept, and which causes are worth it. Pure.

What happens at zones and lines, and what audits find, is always kept. Objects that come, change and go may do so all
the time: they are kept as long as recording costs little beside the analysis.
"""

from __future__ import annotations

from collections.abc import Iterator

from pipelines.observe.record.layout import MOST_FRAMES

AFTER_S = 2.0
"""Media time after an event that is kept."""
ORDINARY = frozenset({"new", "update", "end"})
"""Types of events that are kept where that costs little."""
SHARE = 0.03
"""The share of the process's processor seconds that may go into ordinary events."""
ALLOWANCE_S = 3.0
"""Processor seconds that may go into them before: a run begins with few."""


def affordable(spent_s: float, process_s: float) -> bool:
    """Whether ordinary events may be kept; ``spent_s``: processor seconds of recording, of ``process_s`` in all."""
    return spent_s <= ALLOWANCE_S + SHARE * process_s


class Window:
    """The part of one stream's run that is kept."""

    def __init__(self, run: str, numbers: Iterator[int]) -> None:
        """``numbers``: of new episodes."""
        self.run, self._numbers = run, numbers
        self._episode: int | None = None
        self._until_s = 0.0
        self._frames = 0

    def wanted(self, at_s: float, held: int) -> int:
        """Keep what comes for a while after this media time; returns the episode, which is new where none is open.

        ``held``: frames from before that are kept too.
        """
        if self._episode is None:
            self._begin()
            self._until_s = at_s
        self._until_s = max(self._until_s, at_s + AFTER_S)
        self._frames += held
        assert self._episode is not None
        return self._episode

    def episode_of(self, at_s: float) -> int | None:
        """The episode that the stream's next frame belongs to; None: nobody wants it."""
        if self._episode is None or at_s > self._until_s:
            self._episode = None
        elif self._frames >= MOST_FRAMES:
            self._begin()
        self._frames += 1
        return self._episode

    def _begin(self) -> None:
        self._episode, self._frames = next(self._numbers), 0
