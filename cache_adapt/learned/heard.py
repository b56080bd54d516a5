"""Words of exits for inputs that ran on to the network's end, beside the end's: what thresholds are tuned on. Pure."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from cache_adapt.learned.artefact import ExitArtefact
from cache_adapt.learned.learned_exit import LearnedExit
from cache_adapt.learned.pooled import PooledAnswers, PoolRule, SaidLooks
from cache_adapt.learned.rows import ExitRows
from cache_adapt.learned.vocabulary import WordNumbers

CORRELATION = 0.3
"""Intraclass correlation of names lost for looks at one object, over two cuts on four generated streets."""


@dataclass(frozen=True, slots=True)
class ChainAnswers:
    """The answers of a chain of exits: an input leaves at the first one that is sure."""

    place: NDArray[np.intp]
    """N: the exit at which each leaves; R: at none."""
    right: NDArray[np.bool_]
    """N: whether its word there is the end's; true where it leaves nowhere."""


@dataclass(frozen=True, slots=True)
class Judged:
    """The answers of a chain, as audits compare them with the end's: one for each object, or for each look."""

    wrong: NDArray[np.bool_]
    """n: whether the answer is another one than the end's."""
    answered: NDArray[np.bool_]
    """n: whether an exit has a part in it."""
    named: NDArray[np.bool_]
    """n: whether the end gives a name."""
    alike: NDArray[np.intp] | None = None
    """n: the number of the object, where answers for one object are several; they tell less than others."""

    def evidence(self, among: NDArray[np.bool_]) -> tuple[float, float]:
        """The wrong ones as successes, and the trials: as many independent answers as tell as much.

        n answers for one object, correlated by ρ, tell as much as n / (1 + ρ (n − 1)): the design effect (Kish, 1965).
        """
        count = int(among.sum())
        if not count:
            return 0.0, 0.0
        spread = float(count)
        if self.alike is not None:
            spread += CORRELATION * float((np.bincount(self.alike[among]) ** 2).sum() - count)
        trials = count**2 / spread
        return trials * float(self.wrong[among].sum()) / count, trials

    def share(self, among: NDArray[np.bool_]) -> float:
        """The share of the wrong ones; 0 where there is none."""
        return float(self.wrong[among].mean()) if among.any() else 0.0


@dataclass(frozen=True, slots=True)
class Heard:
    """The words of R exits, in the order of the network, and of its end for N looks; and what comes of that."""

    errors: NDArray[np.float32]
    """R × N error scores."""
    said: NDArray[np.intp]
    """R × N words, sure or not."""
    words: WordNumbers
    """N: the end's."""
    unknown: int
    """The word that is no name."""
    objects: NDArray[np.intp] | None = None
    """N: the number of the object that each shows; None: all show others."""
    pooled: PooledAnswers | None = None
    """The answers of objects, where these are published; None: each look is."""

    @classmethod
    def of(cls, exits: Sequence[LearnedExit], rows: ExitRows, rule: PoolRule | None = None) -> Heard:
        """Ask exits, of which there is one at least, about looks at objects that have a tap for each of them.

        ``rule``: how looks are pooled; None: each is an answer.
        """
        return cls._of([(exits, rows)], rule)

    @classmethod
    def unseen(cls, artefact: ExitArtefact, rows: ExitRows, rule: PoolRule | None = None) -> Heard:
        """Ask about each of the rows, which are in folds, the exits that have not seen its fold: in another order."""
        assert rows.folds is not None
        folds = np.unique(rows.folds).tolist()
        return cls._of([(artefact.unseen(fold), rows.of(rows.folds == fold)) for fold in folds], rule)

    @classmethod
    def _of(cls, parts: Sequence[tuple[Sequence[LearnedExit], ExitRows]], rule: PoolRule | None) -> Heard:
        looks = [_said(exits, rows, rule is not None and rule.by_look) for exits, rows in parts]
        errors, said, labels, certainties = (np.concatenate(each, axis=1) for each in zip(*looks, strict=True))
        rows, words = ExitRows.joined([few for _, few in parts]), parts[0][0][0].vocabulary
        assert rows.shown is not None
        objects, pooled = numbered(rows.shown.objects), None
        if rule is not None:
            pooled = PooledAnswers.of_looks(objects, rows.shown, SaidLooks(labels, certainties), words, rule)
        return cls(errors, said, rows.words, words.unknown, objects, pooled)

    def only(self, answers: NDArray[np.bool_] | None) -> Heard:
        """The same where exits may say no other words than these (L + 1); None: all."""
        return self if answers is None else replace(self, errors=np.where(answers[self.said], self.errors, 1))

    def at(self, exits: Sequence[int]) -> Heard:
        """Some of the exits, by their places."""
        pooled = None if self.pooled is None else self.pooled.at(exits)
        return replace(self, errors=self.errors[list(exits)], said=self.said[list(exits)], pooled=pooled)

    @property
    def right(self) -> NDArray[np.bool_]:
        """R × N: whether the exit's word is the end's."""
        right: NDArray[np.bool_] = self.said == self.words
        return right

    def chain(self, thresholds: NDArray[np.floating]) -> ChainAnswers:
        """The answers at these thresholds, one for each exit."""
        end = np.ones((1, len(self.words)), np.bool_)
        place = np.concatenate([self.errors < thresholds[:, None], end]).argmax(axis=0)
        right = np.concatenate([self.right, end])
        return ChainAnswers(place, right[place, np.arange(len(place))])

    def judged(self, answers: ChainAnswers) -> Judged:
        """The published answers that a chain's answers make."""
        left = answers.place < len(self.errors)
        if self.pooled is None:
            return Judged(~answers.right, left, self.words != self.unknown, self.objects)
        pooled, end = self.pooled, self.pooled.end
        answered = np.bincount(pooled.objects, left, pooled.count) > 0
        return Judged(pooled.of(answers.place) != end, answered, end != self.unknown)


def _said(
    exits: Sequence[LearnedExit], rows: ExitRows, by_look: bool
) -> tuple[NDArray[np.float32], NDArray[np.intp], WordNumbers, NDArray[np.float32]]:
    """Error scores and words by R exits, then labels and certainties by these and the end, as they are pooled."""
    found = [each.words(tap) for each, tap in zip(exits, rows.taps, strict=True)]
    shares = [one.shares(tap, each.words) for one, tap, each in zip(exits, rows.taps, found, strict=True)]
    looks = [SaidLooks.of(each, exits[0].vocabulary, by_look) for each in (*shares, rows.shares)]
    labels, certainties = np.stack([each.labels for each in looks]), np.stack([each.certainties for each in looks])
    return np.stack([each.errors for each in found]), np.stack([each.words for each in found]), labels, certainties


def numbered(objects: Iterable[Hashable]) -> NDArray[np.intp]:
    """A number for each object, equal ones for the same.

    >>> numbered(["car 1", "car 2", "car 1"]).tolist()
    [0, 1, 0]
    """
    known: dict[Hashable, int] = {}
    return np.array([known.setdefault(each, len(known)) for each in objects], np.intp)
