"""Words of exits for inputs that ran on to the network's end, beside the end's: what thresholds are tuned on. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from cache_adapt.learned.learned_exit import LearnedExit
from cache_adapt.learned.rows import ExitRows
from cache_adapt.learned.vocabulary import WordNumbers

CORRELATION = 0.6
"""Intraclass correlation of the looks at one object: their errors have the same causes."""


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
    independent: float = 1.0
    """As how many inputs each one counts as evidence; see ``independence``."""

    @classmethod
    def of(cls, exits: Sequence[LearnedExit], rows: ExitRows, independent: float = 1.0) -> Heard:
        """Ask exits, of which there is one at least, about rows that have a tap for each of them."""
        found = [each.words(tap) for each, tap in zip(exits, rows.taps, strict=True)]
        errors, said = np.stack([each.errors for each in found]), np.stack([each.words for each in found])
        return cls(errors, said, rows.words, rows.weights, exits[0].vocabulary.unknown, independent)

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

        Rows of unequal weights tell less: (Σw)² / Σw² (Kish, 1965).
        """
        weights = self.weights[among].astype(np.float64)
        if not len(weights):
            return 0.0, 0.0
        trials = self.independent * weights.sum() ** 2 / (weights**2).sum()
        return float(trials * weights[wrong[among]].sum() / weights.sum()), float(trials)


def independence(tracks: Iterable[Hashable], correlation: float = CORRELATION) -> float:
    """As how many independent looks each one counts, where some are of the same track (the design effect; Kish, 1965).

    >>> independence([1, 2, 3]), round(independence([1, 1, 1, 1]), 3), independence([])
    (1.0, 0.357, 1.0)
    """
    sizes = Counter(tracks).values()
    looks = sum(sizes)
    return 1 / (1 + correlation * (sum(size * size for size in sizes) / looks - 1)) if looks else 1.0
