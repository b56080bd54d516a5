"""Looks that ran through a cut network to its end: what exits can read of them, and what the end said. Pure."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from operators.recognise.objects.look_rule import LOOK_RULE

KEPT = 2400
"""Looks whose answers are kept: the newest."""


@dataclass(frozen=True)
class TappedLooks:
    """N looks of one frame."""

    stream: str
    taps: Sequence[NDArray[np.float32]]
    """By cut, N × values."""
    words: NDArray[np.intp]
    """N: the word that the end has given each, 0…L; L: ``unknown``."""
    shares: NDArray[np.float32]
    """N × L: the end's probabilities."""
    weights: NDArray[np.float32]
    """N: of so many looks each is a fair sample."""
    objects: Sequence[str]
    """N: whom each shows; looks at one object are alike."""


class HeardLook(NamedTuple):
    """What R exits would have said of one look, and what the end said."""

    errors: NDArray[np.float32]
    said: NDArray[np.intp]
    word: int
    """The end's."""
    weight: float
    whom: str


@dataclass(frozen=True)
class HeardLooks:
    """N looks, oldest first."""

    looks: Sequence[HeardLook]

    @property
    def errors(self) -> NDArray[np.float32]:
        """R × N: the surer an exit is, the lower."""
        return np.stack([each.errors for each in self.looks], axis=1)

    @property
    def said(self) -> NDArray[np.intp]:
        """R × N: the exits' words."""
        return np.stack([each.said for each in self.looks], axis=1)

    @property
    def words(self) -> NDArray[np.intp]:
        """N: the end's."""
        return np.array([each.word for each in self.looks], np.intp)

    @property
    def weights(self) -> NDArray[np.float64]:
        return np.array([each.weight for each in self.looks])

    @property
    def independent(self) -> float:
        """As how many looks each counts: n looks at one object tell as much as n / (1 + ρ (n − 1)) (Kish, 1965)."""
        counts = Counter(each.whom for each in self.looks)
        told = sum(n / (1 + LOOK_RULE.correlation * (n - 1)) for n in counts.values())
        return told / max(len(self.looks), 1)


class AnswersHeard:
    """The newest looks of which one set of exits was heard."""

    def __init__(self) -> None:
        self._looks: deque[HeardLook] = deque(maxlen=KEPT)
        self.taken = 0

    def add(self, errors: NDArray[np.float32], said: NDArray[np.intp], looks: TappedLooks) -> None:
        """Take looks: R × N error scores and words of the exits."""
        ends = zip(looks.words.tolist(), looks.weights.tolist(), looks.objects, strict=True)
        self._looks.extend(HeardLook(errors[:, row], said[:, row], *end) for row, end in enumerate(ends))
        self.taken += len(looks.words)

    @property
    def now(self) -> HeardLooks:
        """Those that are kept at present."""
        return HeardLooks(tuple(self._looks))
