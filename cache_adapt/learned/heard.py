"""Words of exits for inputs that ran on to the network's end, beside the end's: what thresholds are tuned on. Pure."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from cache_adapt.learned.learned_exit import LearnedExit
from cache_adapt.learned.rows import ExitRows
from cache_adapt.learned.vocabulary import WordNumbers

CORRELATION = 0.3
"""Intraclass correlation of names lost for looks at one object, over two cuts on four generated streets. Of wrong
answers it is .5; but it is names that bound thresholds, and no agreement came out below what was promised."""


@dataclass(frozen=True, slots=True)
class ChainAnswers:
    """The answers of a chain of exits: an input leaves at the first one that is sure."""

    place: NDArray[np.intp]
    """N: the exit at which each leaves; R: at none."""
    right: NDArray[np.bool_]
    """N: whether its word there is the end's; true where it leaves nowhere."""

    @property
    def wrong(self) -> NDArray[np.bool_]:
        return ~self.right


@dataclass(frozen=True, slots=True)
class Heard:
    """R exits, in the order of the network, and N inputs."""

    errors: NDArray[np.float32]
    """R × N error scores."""
    said: NDArray[np.intp]
    """R × N words, sure or not."""
    words: WordNumbers
    """N: the end's."""
    weights: NDArray[np.float32]
    """N: how many inputs each stands for."""
    unknown: int
    """The word that is no name."""
    objects: NDArray[np.intp] | None = None
    """N: the number of the object that each shows, since looks at one tell less; None: all show others."""

    @classmethod
    def of(cls, exits: Sequence[LearnedExit], rows: ExitRows, objects: NDArray[np.intp] | None = None) -> Heard:
        """Ask exits, of which there is one at least, about rows that have a tap for each of them."""
        found = [each.words(tap) for each, tap in zip(exits, rows.taps, strict=True)]
        errors, said = np.stack([each.errors for each in found]), np.stack([each.words for each in found])
        return cls(errors, said, rows.words, rows.weights, exits[0].vocabulary.unknown, objects)

    def only(self, answers: NDArray[np.bool_] | None) -> Heard:
        """The same where exits may say no other words than these (L + 1); None: all."""
        return self if answers is None else replace(self, errors=np.where(answers[self.said], self.errors, 1))

    def at(self, exits: Sequence[int]) -> Heard:
        """Some of the exits, by their places."""
        return replace(self, errors=self.errors[list(exits)], said=self.said[list(exits)])

    @property
    def right(self) -> NDArray[np.bool_]:
        """R × N: whether the exit's word is the end's."""
        right: NDArray[np.bool_] = self.said == self.words
        return right

    @property
    def named(self) -> NDArray[np.bool_]:
        """N: whether the end gave a name."""
        named: NDArray[np.bool_] = self.words != self.unknown
        return named

    def chain(self, thresholds: NDArray[np.floating]) -> ChainAnswers:
        """The answers at these thresholds, one for each exit."""
        end = np.ones((1, len(self.words)), np.bool_)
        place = np.concatenate([self.errors < thresholds[:, None], end]).argmax(axis=0)
        right = np.concatenate([self.right, end])
        return ChainAnswers(place, right[place, np.arange(len(place))])

    def evidence(self, wrong: NDArray[np.bool_], among: NDArray[np.bool_]) -> tuple[float, float]:
        """The weighted share of wrong ones as successes, and the trials: as many independent inputs as tell as much.

        Rows of unequal weights tell less, and so do rows of one object, correlated by ρ: (Σw)² over the sum of
        (1 − ρ) w² of all rows and ρ (Σw)² of all objects (the design effect; Kish, 1965).
        """
        weights = self.weights[among].astype(np.float64)
        if not len(weights):
            return 0.0, 0.0
        spread = (weights**2).sum()
        if self.objects is not None:
            together = np.bincount(self.objects[among], weights)
            spread = (1 - CORRELATION) * spread + CORRELATION * (together**2).sum()
        trials = weights.sum() ** 2 / spread
        return float(trials * weights[wrong[among]].sum() / weights.sum()), float(trials)


def numbered(objects: Iterable[Hashable]) -> NDArray[np.intp]:
    """A number for each object, equal ones for the same.

    >>> numbered(["car 1", "car 2", "car 1"]).tolist()
    [0, 1, 0]
    """
    known: dict[Hashable, int] = {}
    return np.array([known.setdefault(each, len(known)) for each in objects], np.intp)
