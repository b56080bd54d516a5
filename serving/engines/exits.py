"""The questions of a network with exits to those that answer at them; nothing is known here of what is inside."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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
        ...

    @property
    def hit(self) -> NDArray[np.bool_]:
        """N: whether each is answered."""
        ...


class Exit(Protocol):
    """Answers for some items from what the network has computed so far."""

    def look(self, features: NDArray[np.float32]) -> ExitAnswers:
        """Look at N × values, the tap of the items that are still undecided. Called on the device's thread."""
        ...


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
    """The network's own first output; zeros for rows that left, and as long as an answer is early."""
    place: NDArray[np.int32]
    """N: the index of the cut whose exit was sure first, also of rows that ran on; the number of cuts: none was."""
    left: NDArray[np.bool_]
    """N: whether the row left there."""
    distribution: NDArray[np.float32]
    """N × classes: what that exit said; zeros where none was sure. No classes where the policy had no exits."""
    taps: Sequence[NDArray[np.float32]]
    """By cut, N × values; to be read of rows that ran on only. No values as long as an answer is early."""

    def as_list(self) -> list[Array]:
        """As an engine hands them over."""
        return [self.scores, self.place, self.left, self.distribution, *self.taps]

    @classmethod
    def of(cls, outputs: Sequence[Array]) -> ExitResult:
        """The same from ``as_list``."""
        scores, place, left, distribution, *taps = outputs
        return cls(scores, place, left, distribution, taps)


@dataclass(frozen=True)
class Answering:
    """The exits that answer at present; replaced as a whole."""

    by_cut: Mapping[str, Exit]
    classes: int = 0
    version: int = 0
    """Comes back with every answer, so that the caller knows which exit answered."""


class Exits:
    """The places of a network's exits, and who answers there; shared by network and maker."""

    def __init__(self, cuts: Sequence[str], releases: bool = False) -> None:
        """``cuts``: cut tensors in dataflow order. At first no exit answers anywhere.

        ``releases``: items that are answered do not leave the batch, only their answers do (Dai et al., 2024, §3).
        """
        self.cuts, self.releases = tuple(cuts), releases
        self._now = Answering({})
        self._silent = False

    @property
    def now(self) -> Answering:
        return self._now

    def begun(self) -> Answering:
        """Who answers for the batch that begins; asked once for each, so that nothing is exchanged within it."""
        silent, self._silent = self._silent, False
        return Answering({}) if silent else self._now

    def be_silent_once(self) -> None:
        """Let no exit answer for the next batch: it goes through as a whole, and has all its taps."""
        self._silent = True

    def exchange(self, answering: Answering) -> None:
        """From the next batch on these answer; ValueError for an exit where there is no cut."""
        if unknown := set(answering.by_cut) - set(self.cuts):
            raise ValueError(f"no cut at {', '.join(sorted(unknown))}")
        self._now = answering


@dataclass(frozen=True)
class ExitOutputs:
    """The outputs of a network with exits, in their order; the first axis of each is N."""

    scores: Array
    """The network's own first output; zeros for items that left before its end, or whose answer is early."""
    place: NDArray[np.int32]
    """N: the index of the cut at which each item was answered; the number of cuts: at the end."""
    version: NDArray[np.int32]
    """N: of those who could answer."""
    distribution: NDArray[np.float32]
    """N × classes: what the exit said; zeros for items that none answered. No classes where no exit could answer."""
    taps: Sequence[NDArray[np.float32]]
    """By cut, N × values; no values where items may have left, or the answer is early: then they are not read."""

    def as_list(self) -> list[Array]:
        """As an engine hands them over."""
        return [self.scores, self.place, self.version, self.distribution, *self.taps]

    @classmethod
    def of(cls, outputs: Sequence[Array]) -> ExitOutputs:
        """The same from ``as_list``."""
        scores, place, version, distribution, *taps = outputs
        return cls(scores, place, version, distribution, taps)
