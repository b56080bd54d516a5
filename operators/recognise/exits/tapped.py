"""Looks that ran through a cut network to its end: what exits can read of them, and what the end said. Pure."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from operators.recognise.objects.look_rule import LOOK_RULE

KEPT = 2400
"""Looks whose answers are kept: the newest."""


@dataclass(frozen=True)
class TappedLooks:
    """N looks of one frame."""

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


class AnswersHeard:
    """What exits would have said of the newest looks that ran on, and what the end said."""

    def __init__(self, exits: int) -> None:
        """``exits``: R."""
        self._exits = exits
        self._rows: deque[tuple[NDArray[np.float32], NDArray[np.intp], int, float, str]] = deque(maxlen=KEPT)
        self.taken = 0

    def __len__(self) -> int:
        return len(self._rows)

    def add(self, errors: NDArray[np.float32], said: NDArray[np.intp], looks: TappedLooks) -> None:
        """Take looks: R × N error scores and words of the exits."""
        ends = zip(looks.words.tolist(), looks.weights.tolist(), looks.objects, strict=True)
        for row, (word, weight, whom) in enumerate(ends):
            self._rows.append((errors[:, row], said[:, row], word, weight, whom))
        self.taken += len(looks.words)

    @property
    def errors(self) -> NDArray[np.float32]:
        """R × N: the surer an exit is, the lower."""
        return np.stack([each[0] for each in self._rows], axis=1)

    @property
    def said(self) -> NDArray[np.intp]:
        """R × N: the exits' words."""
        return np.stack([each[1] for each in self._rows], axis=1)

    @property
    def words(self) -> NDArray[np.intp]:
        """N: the end's."""
        return np.array([each[2] for each in self._rows], np.intp)

    @property
    def weights(self) -> NDArray[np.float64]:
        return np.array([each[3] for each in self._rows])

    @property
    def independent(self) -> float:
        """As how many looks each counts: n looks at one object tell as much as n / (1 + ρ (n − 1)) (Kish, 1965)."""
        counts = Counter(each[4] for each in self._rows)
        told = sum(n / (1 + LOOK_RULE.correlation * (n - 1)) for n in counts.values())
        return told / max(len(self._rows), 1)
