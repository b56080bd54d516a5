"""The figures of specialization on one stream and node: answers by who gave them, and exits that came into use."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from learning.saved import Count
from specialization.weg.state import PhaseName


class AnswerCounts(msgspec.Struct):
    """Answers by who gave them, and audits."""

    oracle: Count = 0
    """Answers of the oracle when it was asked alone."""
    head: Count = 0
    fallback: Count = 0
    """Answers of the oracle after a head had said "other"."""
    reused: Count = 0
    """Answers that repeat a track's earlier one."""
    audits: Count = 0
    """Runs of the oracle that check an answer; they are no answers."""

    @property
    def answers(self) -> int:
        return self.oracle + self.head + self.fallback + self.reused

    @property
    def cascaded(self) -> int:
        """Answers of a head, or of the oracle after it."""
        return self.head + self.fallback


class SpecializationTally(msgspec.Struct):
    """Plain data that survives a restart; with the columns of table 5.4 (Shen, 2019).

    >>> tally = SpecializationTally()
    >>> tally.counted(oracle=30)
    >>> tally.entered("specialised", ["car", "bus"], window=40)
    >>> tally.counted(head=9, fallback=1)
    >>> tally.special_rate, tally.cascade_rate, tally.transitions, tally.mean_dominant, tally.mean_window
    (0.25, 0.1, 1, 2.0, 40.0)
    """

    total: AnswerCounts = msgspec.field(default_factory=AnswerCounts)
    phase: PhaseName | None = None
    """The present one; None before the first."""
    classes: tuple[str, ...] = ()
    transitions: Count = 0
    """Changes from another phase to specialised."""
    heads: Count = 0
    """Heads put in use; one that takes the place of another is no transition."""
    dominant: Count = 0
    """Sum of the heads' numbers of classes."""
    windows: Count = 0
    """Sum of the windows that spoke for the heads."""

    def counted(self, *, oracle: int = 0, head: int = 0, fallback: int = 0, reused: int = 0, audits: int = 0) -> None:
        """Count answers by source; ``fallback``: a head said "other", the oracle answered. Audits are no answers."""
        total = self.total
        total.oracle += oracle
        total.head += head
        total.fallback += fallback
        total.reused += reused
        total.audits += audits

    def entered(self, phase: PhaseName, classes: Sequence[str] = (), window: int = 0) -> None:
        """Note the phase and the dominant classes of now; ``window``: the answers that spoke for them."""
        before, now = (self.phase, self.classes), (phase, tuple(classes))
        self.phase, self.classes = now
        if phase == "specialised" and now != before:
            self.transitions += before[0] != phase
            self.heads += 1
            self.dominant += len(self.classes)
            self.windows += window

    @property
    def special_rate(self) -> float:
        """Share of the answers given by a cascade, without reused ones."""
        return _ratio(self.total.cascaded, self.total.answers - self.total.reused) or 0.0

    @property
    def cascade_rate(self) -> float | None:
        """Share of the cascade's answers that came from the oracle; None before the first."""
        return _ratio(self.total.fallback, self.total.cascaded)

    @property
    def mean_dominant(self) -> float | None:
        """Mean number of classes of all heads put in use."""
        return _ratio(self.dominant, self.heads)

    @property
    def mean_window(self) -> float | None:
        """Mean number of answers in the windows that spoke for heads."""
        return _ratio(self.windows, self.heads)


def _ratio(part: float, whole: float) -> float | None:
    return part / whole if whole else None
