"""Exits at the cuts of a network, the policy of each row, and the outputs; what an exit is inside is not known here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from serving.common.tensors import Array
from serving.errors import ModelError


class ExitAnswers(Protocol):
    """An exit's answers for N items."""

    @property
    def distribution(self) -> NDArray[np.float32]:
        """N × classes; rows that are not answered do not matter."""

    @property
    def hit(self) -> NDArray[np.bool_]:
        """N: whether each is answered."""


class Exit(Protocol):
    """Answers for some items from what the network has computed so far."""

    def look(self, features: NDArray[np.float32]) -> ExitAnswers:
        """Look at N × values, the tap of the items that are still undecided. Called on the device's thread."""


@dataclass(frozen=True)
class ExitSet:
    """Who may answer for the rows of one request."""

    by_cut: Mapping[str, Exit]
    """By cut tensor; none at a cut that is not in it."""
    classes: int
    """The length of each exit's distribution."""


@dataclass(frozen=True)
class RowPolicy:
    """The way of each row of one request through a network with cuts."""

    exits: ExitSet | None = None
    """None: nobody answers, all rows run on."""
    leaves: NDArray[np.bool_] | None = None
    """N: whether a row leaves at the exit that is sure of it; one that does not runs on to the end. None: all leave."""
    to_end: bool = True
    """Whether rows that run on go behind the last cut; False: another network answers them, their scores are zeros."""

    def of(self, rows: slice) -> RowPolicy:
        """That of some of the rows."""
        return self if self.leaves is None else replace(self, leaves=self.leaves[rows])

    def check(self, model: str, cuts: Sequence[str], rows: int) -> None:
        """Raise ModelError where this is no policy for so many rows of a model with these cuts."""
        if self.leaves is not None and (self.leaves.shape != (rows,) or self.leaves.dtype != np.bool_):
            given = " × ".join(map(str, self.leaves.shape))
            raise ModelError(
                f"model {model!r}: who leaves is told by {rows} bools, not by {self.leaves.dtype.name} {given}"
            )
        unknown = set(self.exits.by_cut) - set(cuts) if self.exits is not None else set[str]()
        if unknown:
            raise ModelError(f"model {model!r} has no cut at {', '.join(map(repr, sorted(unknown)))}")


@dataclass(frozen=True)
class ExitResult:
    """The outputs of a network with cuts for one request, in their order; the first axis of each is N."""

    scores: Array
    """The network's own first output; zeros for rows that left."""
    place: NDArray[np.int32]
    """N: the index of the cut whose exit was sure first, also of rows that ran on; the number of cuts: none was."""
    left: NDArray[np.bool_]
    """N: whether the row left there."""
    distribution: NDArray[np.float32]
    """N × classes: what that exit said; zeros where none was sure. No classes where the policy had no exits."""
    taps: Sequence[NDArray[np.float32]]
    """By cut, N × values; to be read of rows that ran on only."""

    def at(self, rows: NDArray[np.intp]) -> ExitResult:
        taps = [tap[rows] for tap in self.taps]
        return ExitResult(self.scores[rows], self.place[rows], self.left[rows], self.distribution[rows], taps)

    def as_list(self) -> list[Array]:
        """As an engine hands them over."""
        return [self.scores, self.place, self.left, self.distribution, *self.taps]

    @classmethod
    def of(cls, outputs: Sequence[Array]) -> ExitResult:
        scores, place, left, distribution, *taps = outputs
        return cls(scores, place, left, distribution, taps)
