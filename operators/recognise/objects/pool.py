"""The sum of the looks at one object. Pure.

A look says a word with a certainty c; its other K − 1 words share 1 − c. Looks at one object are not independent: n of
them, correlated by ρ, tell as much as n / (1 + ρ (n − 1)) independent ones (the design effect; Kish, 1965, 5.4). So the
logarithm of the posterior is their weighted mean times that number, and n is (Σw)² / Σw², as weights are unequal.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from operators.wire.schema import Attribute, Provenance

LEAST, MOST = 1e-3, 0.99
"""Bounds of a look's certainty: no single look decides."""
MOST_WORDS = 16
"""Different words that are kept of one object; the word with the least support gives way."""


class Look(NamedTuple):
    """One look at an object."""

    said: Attribute
    certainty: float
    """Probability that the label is right, 0…1."""
    weight: float = 1.0
    """Its weight beside other looks, above 0."""


class Belief(NamedTuple):
    """The most probable word."""

    said: Attribute
    """The latest look that said it."""
    posterior: float
    """The probability that it is right, 0…1."""
    score: float
    """Weighted mean of the confidence that the looks gave which said it."""


@dataclass(frozen=True, slots=True)
class ObjectAnswer:
    """The conclusion of one pool, as shortcuts and the audit hear of it."""

    track_id: int
    belief: Belief
    looks: int
    """Number of looks that were pooled."""
    sure: bool
    """Whether the posterior is high enough to stop looking; else the looks are used up, or the track is over."""
    looked: Mapping[Provenance, int]
    """Looks by who made them."""


@dataclass(slots=True)
class _Word:
    said: Attribute
    support: float = 0.0
    """Σ w · log(p of the word / p of a word that no look has said)."""
    weight: float = 0.0
    score: float = 0.0
    """Σ w · confidence."""


class Pool:
    """The looks at one object."""

    __slots__ = ("_correlation", "_looked", "_strength", "_weight", "_weight2", "_words", "known", "looks")

    def __init__(self, words: int, correlation: float, strength: float = 1.0) -> None:
        """``words``: K ≥ 2; ``correlation``: ρ, 0…1; ``strength``: factor for looks that tell less than they say."""
        self._words, self._correlation, self._strength = words, correlation, strength
        self._weight = self._weight2 = 0.0
        self._looked: Counter[Provenance] = Counter()
        self.known: dict[str, _Word] = {}
        self.looks = 0

    def add(self, look: Look) -> None:
        """Take another look."""
        certainty, label = min(max(look.certainty, LEAST), MOST), look.said.label
        odds = certainty * (self._words - 1) / (1 - certainty)
        self.looks += 1
        self._looked[look.said.provenance] += 1
        self._weight += look.weight
        self._weight2 += look.weight * look.weight
        word = self.known.setdefault(label, _Word(look.said))
        word.said = look.said
        # A look that is less certain than chance says nothing for its word.
        word.support += look.weight * max(0.0, math.log(odds))
        word.weight += look.weight
        word.score += look.weight * look.said.confidence
        if len(self.known) > MOST_WORDS:
            del self.known[
                min((each for each in self.known if each != label), key=lambda each: self.known[each].support)
            ]

    @property
    def looked(self) -> Mapping[Provenance, int]:
        """Looks by who made them."""
        return self._looked

    @property
    def tempered(self) -> float:
        """Number of independent looks that tell as much."""
        count = self._weight * self._weight / self._weight2
        return self._strength * count / (1 + self._correlation * (count - 1))

    def belief(self) -> Belief:
        """Return the most probable word, of equal ones that which was said first; there must be a look."""
        scale = self.tempered / self._weight
        best = max(self.known.values(), key=lambda word: word.support)
        said = sum(math.exp(scale * (word.support - best.support)) for word in self.known.values())
        unsaid = max(0, self._words - len(self.known)) * math.exp(-scale * best.support)
        return Belief(best.said, 1 / (said + unsaid), best.score / best.weight)
