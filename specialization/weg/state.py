"""The state of sequential specialization on one stream and node; plain data that survives a restart or a move."""

from __future__ import annotations

from typing import Annotated, Final, Literal

import msgspec
from msgspec import Meta

from learning.saved import Amount, Count, Share
from specialization.rates import Rates

PhaseName = Literal["initialising", "selecting", "training", "specialised"]


Source = Literal[0, 1, 2]
"""The source of an answer: the oracle, asked alone; a head; the oracle, after a head had said "other"."""
ORACLE: Final = 0
HEAD: Final = 1
FALLBACK: Final = 2
MOST_CAUTION: Final = 8.0


class HeadTarget(msgspec.Struct, frozen=True):
    """The classes and template that a head is, or would be, specialised to."""

    template: str
    classes: tuple[int, ...]
    """D, ascending."""
    skew: Share
    """p* when it was chosen."""
    cost: Amount
    """Expected cost per input, as a share of the oracle's."""


class Head(msgspec.Struct, frozen=True):
    """A specialised head, wanted or there."""

    number: Count
    """Unique within the stream and node; ascends."""
    target: HeadTarget
    training_skew: Share
    rates: Rates | None = None
    """Its own, as validated when it was trained; None: those of its template, the mean over other classes, hold."""


class WegState(msgspec.Struct):
    """Symbols as in algorithm 5.1."""

    epoch: Count = 1
    """j."""
    answers: list[int] = []
    """S: the newest answers, of the oracle or the cascade."""
    sources: list[Source] = []
    """The source of each answer."""
    previous: list[int] = []
    """S_{j−1}: the oracle's answers of the epoch before; under a head, those of this epoch."""
    window: Count = 0
    """w; 0 until the first window of the epoch is full."""
    head: Head | None = None
    """The head in use."""
    wanted: Head | None = None
    """The head that was asked for and has neither arrived nor failed."""
    known: list[Head] = []
    """Heads that arrived, the newest last."""
    numbers: Count = 0
    """Heads asked for so far."""
    n_c: Count = 0
    """Answers of the head alone since it is in use."""
    n_star: Count = 0
    """n*: audits in which the oracle said something else."""
    falling: Amount = 0.0
    """Evidence that the head answers too rarely (CUSUM)."""
    falling_for: Count = 0
    """Answers of the cascade since that evidence began."""
    contradicted: Amount = 0.0
    """Evidence that the oracle contradicts too often (CUSUM)."""
    debt: Amount = 0.0
    """Runs of the oracle that training heads has cost and they have not saved yet."""
    caution: Annotated[float, Meta(ge=1, le=MOST_CAUTION)] = 1.0
    """How much more evidence it takes to leave a head than if objects were independent."""

    def __post_init__(self) -> None:
        if len(self.answers) != len(self.sources):
            raise ValueError("each answer has one source")

    @property
    def phase(self) -> PhaseName:
        """The phase of algorithm 5.1; ``training`` is template selection that waits for its head."""
        if self.head:
            return "specialised"
        if self.wanted:
            return "training"
        return "selecting" if self.window else "initialising"
