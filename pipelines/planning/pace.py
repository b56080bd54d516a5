"""Whether a stream's frames come faster than its best plan can hold: then each may take no longer than the next one
is away, and cheaper variants come before drops. Pure.

It is a state with hysteresis. A stream is *hurried* from when a frame that waits could not meet its deadline if all
ran by the best plan, and it is hurried until nothing waits and the best plan would take ``CALM`` of the time between
two frames. What a hurried frame takes says nothing of what the best plan would take, so that is what is asked; and
under a constant load the answer is constant.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

CALM = 0.85
"""Share of the time between frames that the best plan may take in a stream that is hurried no longer."""
USED = 0.95
"""Share of the time between frames that a hurried frame may take."""
NEWEST = 0.1
"""Share of the newest interval in their mean."""


@dataclass(slots=True)
class ArrivalPace:
    """One stream's frames: how far apart they come, and whether they hurry."""

    interval_s: float | None = None
    """Mean time between two frames; None before the second."""
    hurried: bool = False
    arrived_s: float | None = None

    def arrived(self, now_s: float) -> None:
        if self.arrived_s is not None:
            passed_s = max(now_s - self.arrived_s, 0.0)
            known_s = self.interval_s
            self.interval_s = passed_s if known_s is None else known_s + NEWEST * (passed_s - known_s)
        self.arrived_s = now_s

    def limit_s(self, now_s: float, deadlines_s: Sequence[float], best_s: float, crowded: bool) -> float | None:
        """How long the frame that begins now may take, for the sake of those after it; None: until its own deadline.

        ``deadlines_s``: of the frames that wait behind it, in their order. ``best_s``: what a frame takes by the best
        plan. ``crowded``: so many wait that the next ones may find no room.
        """
        if self.interval_s is None:
            return None
        if not self.hurried:
            self.hurried = crowded or _would_miss(now_s, deadlines_s, best_s)
        elif not deadlines_s and best_s <= CALM * self.interval_s:
            self.hurried = False
        return USED * self.interval_s if self.hurried else None


def _would_miss(now_s: float, deadlines_s: Sequence[float], best_s: float) -> bool:
    """Whether a frame that waits would miss its deadline if it and all before it ran by the best plan."""
    return any(now_s + (place + 2) * best_s > deadline_s for place, deadline_s in enumerate(deadlines_s))
