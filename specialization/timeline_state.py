"""What a ``Timeline`` knows, and what it says in numbers; plain data."""

from __future__ import annotations

import msgspec

from specialization.weg_state import PhaseName


class Counts(msgspec.Struct):
    """Answers by who gave them, and audits."""

    oracle: int = 0
    """Asked alone."""
    head: int = 0
    fallback: int = 0
    """The oracle's, after a head had said "other"."""
    reused: int = 0
    """A track's earlier answer."""
    audits: int = 0
    """No answers: runs of the oracle on what somebody else had answered."""

    @property
    def answers(self) -> int:
        """Whoever gave them."""
        return self.oracle + self.head + self.fallback + self.reused

    @property
    def cascaded(self) -> int:
        """Answers of a head, or of the oracle after it."""
        return self.head + self.fallback

    def add(self, more: Counts) -> None:
        """Count those as well."""
        self.oracle += more.oracle
        self.head += more.head
        self.fallback += more.fallback
        self.reused += more.reused
        self.audits += more.audits


class Span(msgspec.Struct):
    """A time of one phase and the same dominant classes."""

    from_s: float
    to_s: float
    phase: PhaseName
    classes: tuple[str, ...] = ()


class Slice(msgspec.Struct):
    """What was counted within some seconds, as many as ``TimelineState.slice_s``."""

    from_s: float
    counts: Counts = msgspec.field(default_factory=Counts)
    agreement: tuple[float, float] | None = None
    """The interval at its end."""


class TimelineState(msgspec.Struct):
    """Times are media seconds of the stream."""

    now_s: float = 0.0
    ahead_s: float = 0.0
    """Of the source's clock, which begins anew when it is started again."""
    total: Counts = msgspec.field(default_factory=Counts)
    slices: list[Slice] = []
    slice_s: float = 1.0
    spans: list[Span] = []
    forgotten: int = 0
    """Spans before the oldest that is kept."""
    transitions: int = 0
    heads: int = 0
    """Put in use; those that take the place of another are no transition."""
    dominant: int = 0
    """Sum over heads: their classes."""
    windows: int = 0
    """Sum over heads: the window that spoke for them."""


class Statistics(msgspec.Struct, frozen=True, kw_only=True):
    """The columns of table 5.4 (Shen, 2019), and what the cascade spared."""

    counts: Counts
    special_rate: float
    """Share of the answers given by a cascade; reused ones left out."""
    cascade_rate: float | None
    """Of these, the share that came from the oracle; None before the first."""
    transitions: int
    """From another phase to specialised."""
    mean_dominant: float | None
    """Classes of a head, mean over all heads put in use."""
    mean_window: float | None
    """Answers in the window that spoke for it."""
    cost: float
    """Of all answers and audits, in runs of the oracle."""
    saving: float | None
    """Against the oracle for every answer: 1 − cost / answers."""
    speedup: float | None
    """Answers / cost."""
