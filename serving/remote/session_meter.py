"""Which sessions a process asks others for, or is asked for: how many items, how late. It is told the time.

A session is a model and the SLO of frames. Its own time is what their deadlines leave it: the share with which the
fewest workers are needed, or where that is not known, in proportion to what it takes and what follows; the longest of
late, for frames that have waited leave less, and need no faster model for that.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from serving.scheduling.requests import Urgency

MOST_SESSIONS = 256
"""Sessions that are counted; of further ones nothing is known."""
FORGOTTEN_S = 120.0
"""A session that nobody has asked for so long makes room."""
STEPS = 4
"""Times are rounded down to so many steps between a time and its double, so that cameras share a session."""
LEAST_S, MOST_S = 0.001, 3600.0
NEWEST = 0.1
"""Share of the newest answer in the mean time."""
FADING_S, FADED = 600.0, 0.9
"""Where no time has been as long as the longest for so many seconds, so much of it goes on to count."""

Key = tuple[str, float, int]


@dataclass(slots=True)
class SessionCounts:
    """Counts of one session since the process was started."""

    model: str
    priority: int = 0
    slo_s: float = 0.0
    """The time that it has for itself."""
    asked: int = 0
    """Items."""
    served: int = 0
    late: int = 0
    """Items that were not answered when they had to be."""
    calls: int = 0
    last_s: float = 0.0
    longest_s: float = 0.0
    """The longest time that a request had of late, not rounded."""
    since_s: float = 0.0
    """When it had that."""
    took_s: float = 0.0
    """The mean time of an answer."""


class SessionMeter:
    """Used from one event loop.

    >>> meter = SessionMeter()
    >>> asked = meter.asked("cars", Urgency(deadline=10.1, slo_s=0.2), items=4, now_s=10.0)
    >>> asked.ended(10.08, answered=True)
    >>> [(each.model, each.slo_s, each.asked, each.served, each.late) for each in meter.sessions.values()]
    [('cars', 0.09051, 4, 4, 0)]
    """

    def __init__(self, most: int = MOST_SESSIONS) -> None:
        self._most = most
        self.sessions: dict[Key, SessionCounts] = {}
        """By model, the SLO of its frames, and priority."""

    def asked(self, model: str, urgency: Urgency, items: int, now_s: float) -> AskedItems:
        """Count items that are asked for; background work is none that must be served."""
        if urgency.background or not math.isfinite(urgency.deadline):
            return AskedItems(None, items)
        counts = self._session((model, round(urgency.slo_s, 3), urgency.priority), now_s)
        due_s = urgency.deadline - urgency.downstream_s
        if counts is not None:
            self._note_time(counts, urgency, now_s)
            counts.asked, counts.calls, counts.last_s = counts.asked + items, counts.calls + 1, now_s
        return AskedItems(counts, items, due_s, now_s)

    def _session(self, key: Key, now_s: float) -> SessionCounts | None:
        if key not in self.sessions and len(self.sessions) >= self._most:
            for old in [each for each, counts in self.sessions.items() if now_s - counts.last_s > FORGOTTEN_S]:
                del self.sessions[old]
            if len(self.sessions) >= self._most:
                return None
        model, _, priority = key
        return self.sessions.setdefault(key, SessionCounts(model, priority, since_s=now_s))

    def _note_time(self, counts: SessionCounts, urgency: Urgency, now_s: float) -> None:
        own_s, left_s = counts.took_s or urgency.downstream_s, urgency.deadline - now_s
        both_s = own_s + urgency.downstream_s
        share = urgency.share or (own_s / both_s if both_s > 0 else 1.0)
        time_s = left_s * share
        if not counts.slo_s and time_s <= 0:
            time_s = urgency.slo_s * share  # the first one is late: as if it had not waited
        if not counts.slo_s or time_s >= counts.longest_s or now_s - counts.since_s > FADING_S:
            counts.longest_s, counts.since_s = max(time_s, FADED * counts.longest_s, LEAST_S), now_s
            counts.slo_s = stepped(counts.longest_s, counts.slo_s)


@dataclass(frozen=True, slots=True)
class AskedItems:
    counts: SessionCounts | None
    items: int
    due_s: float = math.inf
    asked_s: float = 0.0

    def ended(self, now_s: float, answered: bool) -> None:
        """They are answered, or never will be."""
        counts = self.counts
        if counts is None:
            return
        if answered:
            counts.served += self.items
            took_s = now_s - self.asked_s
            counts.took_s += (NEWEST if counts.took_s else 1.0) * (took_s - counts.took_s)
        if not answered or now_s > self.due_s:
            counts.late += self.items


def stepped(time_s: float, before_s: float = 0.0) -> float:
    """The time rounded down to a step; the step of before as long as it is none or one below.

    >>> stepped(0.1), stepped(0.11), stepped(0.11, before_s=0.09051)
    (0.09051, 0.10763, 0.09051)
    """
    limited_s = min(max(time_s, LEAST_S), MOST_S)
    if before_s <= limited_s < before_s * 2 ** (2 / STEPS):
        return before_s
    step = math.floor(math.log2(limited_s / LEAST_S) * STEPS + 1e-9)
    return round(LEAST_S * 2 ** (step / STEPS), 5)
