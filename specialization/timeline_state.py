"""The state and the statistics of a ``Timeline``; plain data."""

from __future__ import annotations

import msgspec

from specialization.weg.state import PhaseName


class AnswerCounts(msgspec.Struct):
    """Answers by who gave them, and audits."""

    oracle: int = 0
    """Answers of the oracle when it was asked alone."""
    head: int = 0
    fallback: int = 0
    """Answers of the oracle after a head had said "other"."""
    reused: int = 0
    """Answers that repeat a track's earlier one."""
    audits: int = 0
    """Runs of the oracle that check an answer; they are no answers."""

    @property
    def answers(self) -> int:
        return self.oracle + self.head + self.fallback + self.reused

    @property
    def cascaded(self) -> int:
        """Answers of a head, or of the oracle after it."""
        return self.head + self.fallback

    def add(self, more: AnswerCounts) -> None:
        """Add other counts."""
        self.oracle += more.oracle
        self.head += more.head
        self.fallback += more.fallback
        self.reused += more.reused
        self.audits += more.audits


class PhaseSpan(msgspec.Struct):
    """A time of one phase and the same dominant classes."""

    from_s: float
    to_s: float
    phase: PhaseName
    classes: tuple[str, ...] = ()


class TimelineState(msgspec.Struct):
    """Times are media seconds of the stream."""

    now_s: float = 0.0
    ahead_s: float = 0.0
    """How far the stream's time is ahead of the source's clock, which begins anew when it is started again."""
    total: AnswerCounts = msgspec.field(default_factory=AnswerCounts)
    spans: list[PhaseSpan] = []
    forgotten: int = 0
    """Spans before the oldest that is kept."""
    transitions: int = 0
    heads: int = 0
    """Heads put in use; one that takes the place of another is no transition."""
    dominant: int = 0
    """Sum of the heads' numbers of classes."""
    windows: int = 0
    """Sum of the windows that spoke for the heads."""


class Statistics(msgspec.Struct, frozen=True, kw_only=True):
    """The columns of table 5.4 (Shen, 2019)."""

    counts: AnswerCounts
    special_rate: float
    """Share of the answers given by a cascade, without reused ones."""
    cascade_rate: float | None
    """Share of the cascade's answers that came from the oracle; None before the first."""
    transitions: int
    """Changes from another phase to specialised."""
    mean_dominant: float | None
    """Mean number of classes of all heads put in use."""
    mean_window: float | None
    """Mean number of answers in the windows that spoke for heads."""
