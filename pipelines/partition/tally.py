"""Counts what a worker has answered, how far it has come in each partition, and which frames never came."""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass, field

from operators.wire.schema import FrameId
from pipelines.partition.answer import Answer
from pipelines.partition.message import Message


@dataclass(slots=True)
class Tally:
    """Written by the partitions of a worker, read by its observers."""

    outcomes: Counter[str] = field(default_factory=Counter)
    """Results by outcome."""
    drops: Counter[str] = field(default_factory=Counter)
    """Dropped frames by cause."""
    letters: int = 0
    acknowledged: dict[tuple[str, int], int] = field(default_factory=dict)
    """By topic and partition: the offset behind the last message before which all are acknowledged."""
    _latest_s: dict[tuple[str, int], float] = field(default_factory=dict)
    _taken: dict[tuple[str, int], deque[tuple[int, float]]] = field(default_factory=dict)
    """Offsets and times of messages in their order, from the first on that is not acknowledged; a worker in which that
    one stays for long ends."""
    _ahead: set[tuple[str, int, int]] = field(default_factory=set)
    """Messages that are acknowledged before an earlier one: queries wait for each other's results only by stream."""

    def take(self, message: Message) -> None:
        """Note the next message of its partition."""
        taken = self._taken.setdefault((message.topic, message.partition), deque())
        taken.append((message.offset, message.timestamp_s))

    def acknowledge(self, message: Message) -> None:
        place = message.topic, message.partition
        self._ahead.add((*place, message.offset))
        taken = self._taken.get(place, deque())
        while taken and (*place, taken[0][0]) in self._ahead:
            offset, self._latest_s[place] = taken.popleft()
            self._ahead.discard((*place, offset))
            self.acknowledged[place] = offset + 1

    def answered(self, found: Answer) -> None:
        """Count a query's answer, which is stored."""
        if found.result is not None:
            self.outcomes[found.result.outcome] += 1
            if found.result.outcome == "dropped":
                self.drops[found.result.cause or "unknown"] += 1
        self.letters += found.dead_letter is not None

    @property
    def counts(self) -> tuple[Counter[str], Counter[str], int]:
        """A copy of outcomes, drops and letters."""
        return self.outcomes.copy(), self.drops.copy(), self.letters

    def begin_anew(self) -> None:
        """Note that partitions moved: the positions of all are unknown."""
        for each in (self.acknowledged, self._latest_s, self._taken, self._ahead):
            each.clear()

    def lag_s(self, now_s: float) -> float:
        """Between the oldest of the messages that are next and now, as the broker's times have it (epoch)."""
        return max((now_s - latest_s for latest_s in self._latest_s.values()), default=0.0)


class MissingFrames:
    """The latest frame of each stream; frames that come again, as after a restart, are no news.

    >>> missing = MissingFrames()
    >>> [missing.before(FrameId("gate", "r1", seq)) for seq in (7, 8, 12, 8, 13)]
    [0, 0, 3, 0, 0]
    >>> missing.before(FrameId("gate", "r2", 40))
    0
    >>> missing.begin_anew()
    >>> [missing.before(FrameId("gate", "r2", seq)) for seq in (90, 92)]
    [0, 1]
    """

    def __init__(self) -> None:
        self._latest: dict[str, FrameId] = {}

    def before(self, frame: FrameId) -> int:
        """How many frames are missing between the latest one of the same run and this; note this one."""
        latest = self._latest.get(frame.stream)
        if latest is None or latest.run != frame.run:
            self._latest[frame.stream] = frame
            return 0
        if frame.seq <= latest.seq:
            return 0
        self._latest[frame.stream] = frame
        return frame.seq - latest.seq - 1

    def begin_anew(self) -> None:
        """Note that partitions moved: until it is known what others have answered meanwhile, nothing is missing."""
        self._latest.clear()

    def forget(self, stream: str) -> None:
        """The next frame of the stream is the first."""
        self._latest.pop(stream, None)
