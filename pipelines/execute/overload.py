"""Overload, when frames come faster than they can be analysed: named policies, pure decisions.

The executor asks at enqueue (``overflow``, ``late``), at dequeue (``late``) and on a timer set for the moment after
which ``late`` may have changed its mind. It counts every drop under the policy's cause.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from pipelines.query.nodes import PolicyName

QUEUE_FULL = "queue_full"
LATE = "late"


@dataclass(frozen=True, slots=True)
class WaitingFrame:
    """A frame in a stream's queue. Times are seconds on the monotonic clock."""

    seq: int
    deadline: float


class OverloadPolicy(Protocol):
    """Decides which frames of one stream are given up."""

    name: PolicyName
    patient: bool
    """Whether no frame is ever late."""

    def overflow(self, queue: Sequence[WaitingFrame]) -> int | None:
        """The queue is full: the index of the frame to drop, or None to make the source wait."""

    def late(self, frame: WaitingFrame, newer_waiting: bool, now: float, service_s: float) -> bool:
        """Whether to give up a waiting frame; ``service_s`` is the time that analysing it is expected to take."""


class Block:
    """Analyse everything; the source waits. For files, where nothing may be lost and nothing runs away."""

    name: PolicyName = "block"
    patient: bool = True

    def overflow(self, queue: Sequence[WaitingFrame]) -> int | None:
        """Wait."""
        return None

    def late(self, frame: WaitingFrame, newer_waiting: bool, now: float, service_s: float) -> bool:
        """Never."""
        return False


class DropOldest:
    """Prefer fresh frames: a full queue loses its oldest, and a frame past its deadline gives way to a newer one.

    The newest frame is always analysed, so that an overloaded stream still yields results, if late ones.
    """

    name: PolicyName = "drop_oldest"
    patient: bool = False

    def overflow(self, queue: Sequence[WaitingFrame]) -> int | None:
        """The oldest."""
        return 0

    def late(self, frame: WaitingFrame, newer_waiting: bool, now: float, service_s: float) -> bool:
        """Past its deadline, with a newer one to take its place."""
        return newer_waiting and now > frame.deadline


class DropLate:
    """Analyse only what can still meet its deadline: for consumers to whom a late answer is worth nothing."""

    name: PolicyName = "drop_late"
    patient: bool = False

    def overflow(self, queue: Sequence[WaitingFrame]) -> int | None:
        """The oldest: it is the closest to its deadline."""
        return 0

    def late(self, frame: WaitingFrame, newer_waiting: bool, now: float, service_s: float) -> bool:
        """Analysing it would end after its deadline."""
        return now + service_s > frame.deadline


POLICIES: dict[PolicyName, type[Block] | type[DropOldest] | type[DropLate]] = {
    policy.name: policy for policy in (Block, DropOldest, DropLate)
}


@dataclass(slots=True)
class ServiceTime:
    """An estimate of the seconds that analysing a frame takes.

    A drop lowers the estimate, so that one slow spell cannot make ``drop_late`` give up every later frame unseen.
    """

    seconds: float = 0.0
    gain: float = 0.2

    def observe(self, seconds: float) -> None:
        """A frame was analysed."""
        self.seconds += self.gain * (seconds - self.seconds)

    def dropped(self) -> None:
        """A frame was given up."""
        self.seconds *= 1.0 - self.gain / 2


@dataclass(slots=True, eq=False)
class StreamPatience:
    """How long a query waits for the frames of one stream, and what it has seen of the time that they take."""

    policy: OverloadPolicy
    service: ServiceTime = field(default_factory=ServiceTime)
