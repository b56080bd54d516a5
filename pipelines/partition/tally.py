"""Counts what a worker has answered, and how far it has come in each partition."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

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
    """By topic and partition: the offset behind the last acknowledged message."""
    _latest_s: dict[tuple[str, int], float] = field(default_factory=dict)

    def acknowledge(self, message: Message) -> None:
        """Note that a message was acknowledged."""
        place = message.topic, message.partition
        self.acknowledged[place] = message.offset + 1
        self._latest_s[place] = message.timestamp_s

    def answered(self, found: Answer) -> None:
        """Count a query's answer, which is stored."""
        if found.result is not None:
            self.outcomes[found.result.outcome] += 1
            if found.result.outcome == "dropped":
                self.drops[found.result.cause or "unknown"] += 1
        self.letters += found.dead_letter is not None

    def begin_anew(self) -> None:
        """Note that partitions moved: the positions of all are unknown."""
        self.acknowledged.clear()
        self._latest_s.clear()

    def lag_s(self, now_s: float) -> float:
        """Between the oldest of the messages that are next and now, as the broker's times have it (epoch)."""
        return max((now_s - latest_s for latest_s in self._latest_s.values()), default=0.0)
