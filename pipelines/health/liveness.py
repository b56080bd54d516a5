"""Whether a worker makes progress: observations in, a verdict out. Pure.

A worker is well while messages are acknowledged or none wait. What else it may be doing has a bound of time
(``stalled_after_s``), and beyond it a reason in words.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from math import inf

STALLED_AFTER_S = 60.0
"""Time without an acknowledged message after which a worker is stalled; loading a large model takes less."""
RESTARTS = 3
"""Number of new beginnings without an acknowledged message after which a worker is unhealthy."""
GAP_S = 5.0
"""Longest time between two observations; after a longer one the process was frozen, and the time is not counted."""
SILENT_S = 5.0
"""Time without an answer after which it is for the broker that a worker waits; it answers several times in a second."""


@dataclass(frozen=True, slots=True)
class PartitionView:
    """A partition of the frames topic as its worker sees it. Offsets are those of the next message."""

    topic: str
    partition: int
    end: int | None
    """The end of the partition on the topic; None while the broker has not said it."""
    position: int | None
    """The next offset to fetch."""
    handed: int | None
    """The next offset to hand to the worker; None before the first."""
    acknowledged: int | None
    """The next offset to acknowledge; None before the first was handed over."""
    refusal: str | None = None
    """The broker's error, where it answers every fetch with one."""

    @property
    def waiting(self) -> bool:
        unread = self.end is not None and self.position is not None and self.position < self.end
        return unread or (self.handed is not None and self.handed > (self.acknowledged or 0))

    @property
    def behind(self) -> int:
        """Messages between what is acknowledged and the end."""
        done = self.position if self.acknowledged is None else self.acknowledged
        return 0 if self.end is None or done is None else max(0, self.end - done)

    def __str__(self) -> str:
        return f"topic {self.topic} partition {self.partition}"


@dataclass(frozen=True, slots=True)
class Observation:
    """The state of a worker at a moment of the monotonic clock."""

    now_s: float
    joined: bool
    """It has been assigned its partitions, which may be none."""
    answered_s: float | None = None
    """When the broker answered last; None while nothing is asked of it."""
    partitions: tuple[PartitionView, ...] = ()
    storing: bool = True
    """The broker stores what is published; else the worker tries until it does."""


@dataclass(slots=True)
class Liveness:
    """Keeps the state between observations."""

    stalled_after_s: float = STALLED_AFTER_S
    ends_after_s: float = inf
    """Time without an acknowledged message, all of it the worker's own doing, after which it had better end."""
    _since: dict[str, tuple[object, float]] = field(default_factory=dict)
    """The mark of progress of each thing that may stall, and since when it has not changed."""
    _last_s: float | None = None
    _restarts: int = 0
    _cause: str = ""
    _furthest: dict[str, int] = field(default_factory=dict)
    """The acknowledged offset of each partition."""

    @property
    def restarts(self) -> int:
        """New beginnings since the last acknowledged message."""
        return self._restarts

    def begin_anew(self, topic: str) -> None:
        """Note that the topic's offsets begin again."""
        self._furthest = {place: mark for place, mark in self._furthest.items() if f"topic {topic} " not in place}

    def restarted(self, cause: str) -> None:
        """Note that the worker begins anew, for this reason."""
        self._restarts += 1
        self._cause = cause
        self._since.clear()

    def verdict(self, seen: Observation) -> str | None:
        """Return what is wrong; None if the worker is well."""
        self._forgive_frozen(seen.now_s)
        self._note_progress(seen.partitions)
        if self._restarts >= RESTARTS:
            return f"the worker began anew {self._restarts} times without answering a frame: {self._cause}"
        problems = [*self._of_the_worker(seen), *self._of_partitions(seen)]
        return problems[0] if problems else None

    def is_hopeless(self, seen: Observation) -> bool:
        """Whether a new process had better take over: for long this one alone has kept messages waiting.

        The time for which it waits for the broker, which may be long, is not counted.
        """
        silent_s = 0.0 if seen.answered_s is None else seen.now_s - seen.answered_s
        able = seen.joined and seen.storing and silent_s < SILENT_S
        longest_s = 0.0
        for item in seen.partitions:
            stuck = able and item.waiting and item.refusal is None
            mark = (item.acknowledged, None if stuck else seen.now_s)
            longest_s = max(longest_s, self._stands(f"{item} stuck", mark, seen.now_s))
        return longest_s >= max(self.ends_after_s, self.stalled_after_s)

    def _of_the_worker(self, seen: Observation) -> Iterable[str]:
        waited_s = self._stands("joining", seen.joined, seen.now_s)
        if not seen.joined and waited_s >= self.stalled_after_s:
            yield f"the broker has assigned no partitions for {waited_s:.0f} s"
        silent_s = self._stands("answer", seen.now_s if seen.answered_s is None else seen.answered_s, seen.now_s)
        if silent_s >= self.stalled_after_s:
            yield f"the broker has not answered for {silent_s:.0f} s"

    def _of_partitions(self, seen: Observation) -> Iterable[str]:
        found = []
        for item in seen.partitions:
            mark = (item.acknowledged, None) if item.waiting else (item.acknowledged, seen.now_s)
            waited_s = self._stands(str(item), mark, seen.now_s)
            refused_s = self._stands(f"{item} refused", item.refusal, seen.now_s)
            if item.refusal is not None and refused_s >= self.stalled_after_s:
                found.append((refused_s, f"{item}: the broker has refused it for {refused_s:.0f} s ({item.refusal})"))
            elif waited_s >= self.stalled_after_s:
                found.append(
                    (
                        waited_s,
                        f"{item}: {item.behind} messages wait and none has been acknowledged for {waited_s:.0f} s",
                    )
                )
        worst = sorted(found, reverse=True)
        more = f"; so do {len(worst) - 1} other partitions" if len(worst) > 1 else ""
        return [f"{worst[0][1]}{more}"] if worst else []

    def _note_progress(self, partitions: tuple[PartitionView, ...]) -> None:
        """Reset the count of new beginnings once a message is acknowledged."""
        for item in partitions:
            furthest = self._furthest.get(str(item), -1)
            if item.acknowledged is not None and item.acknowledged > furthest:
                self._furthest[str(item)] = item.acknowledged
                self._restarts = 0

    def _stands(self, what: str, mark: object, now_s: float) -> float:
        """Seconds since a mark changed."""
        before = self._since.get(what)
        if before is None or before[0] != mark:
            self._since[what] = mark, now_s
            return 0.0
        return now_s - before[1]

    def _forgive_frozen(self, now_s: float) -> None:
        if self._last_s is not None and now_s - self._last_s > GAP_S:
            lost_s = now_s - self._last_s
            self._since = {what: (mark, since_s + lost_s) for what, (mark, since_s) in self._since.items()}
        self._last_s = now_s
