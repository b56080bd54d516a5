"""Overload, when frames come faster than they can be analysed: named policies, pure decisions.

The lane asks at enqueue, at dequeue, and on a timer set for the moment after which the answer may have changed. It
counts every drop under its cause.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from pipelines.query.nodes import PolicyName

QUEUE_FULL = "queue_full"
LATE = "late"
NEWEST: Final = 0.2
"""Share of the newest frame in the time that a frame is expected to take."""


def block(deadline_s: float, newer_waiting: bool, now_s: float, service_s: float) -> bool:
    """Analyse everything; the source waits. For files, where nothing may be lost and nothing runs away."""
    return False


def drop_oldest(deadline_s: float, newer_waiting: bool, now_s: float, service_s: float) -> bool:
    """Prefer fresh frames: one past its deadline gives way to a newer one.

    The newest frame is always analysed, so that an overloaded stream still yields results, if late ones.
    """
    return newer_waiting and now_s > deadline_s


def drop_late(deadline_s: float, newer_waiting: bool, now_s: float, service_s: float) -> bool:
    """Analyse only what can still meet its deadline: for consumers to whom a late answer is worth nothing."""
    return now_s + service_s > deadline_s


POLICIES: Mapping[PolicyName, Callable[[float, bool, float, float], bool]] = {
    "block": block,
    "drop_oldest": drop_oldest,
    "drop_late": drop_late,
}
"""Whether a waiting frame is given up, by its deadline, whether a newer one waits, the time now, and the time that its
analysis is expected to take; seconds on the monotonic clock. Under all but ``block`` a full queue loses its oldest."""


class StreamPatience:
    """How long a query waits for the frames of one stream, and what it has seen of the time that they take.

    A drop lowers the estimate, so that one slow spell cannot make ``drop_late`` give up every later frame unseen.
    """

    def __init__(self, policy: PolicyName) -> None:
        self.patient = policy == "block"
        """Whether no frame is ever given up."""
        self.service_s = 0.0
        """The seconds that analysing a frame is expected to take."""
        self._late = POLICIES[policy]

    def late(self, deadline_s: float, newer_waiting: bool, now_s: float) -> bool:
        """Whether to give up a waiting frame."""
        return self._late(deadline_s, newer_waiting, now_s, self.service_s)

    def analysed(self, seconds: float) -> None:
        self.service_s += NEWEST * (seconds - self.service_s)

    def dropped(self) -> None:
        self.service_s *= 1.0 - NEWEST / 2
