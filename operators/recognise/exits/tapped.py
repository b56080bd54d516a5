"""Looks that ran through a cut network to its end: what exits can read of them, and what the end said. Pure."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

KEPT = 2400
"""Looks whose answers are kept: the newest."""


@dataclass(frozen=True)
class TappedLooks:
    """N looks of one stream."""

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


def joined(looks: Sequence[TappedLooks]) -> TappedLooks:
    """Looks of several frames of one stream, one after the other."""
    if len(looks) == 1:
        return looks[0]
    taps = [np.concatenate(each) for each in zip(*(few.taps for few in looks), strict=True)]
    words, shares, weights = (
        np.concatenate([getattr(few, part) for few in looks]) for part in ("words", "shares", "weights")
    )
    return TappedLooks(looks[0].stream, taps, words, shares, weights, [each for few in looks for each in few.objects])


class HeardLook(NamedTuple):
    """The would-be answers of R exits to one look, and the end's."""

    errors: NDArray[np.float32]
    said: NDArray[np.intp]
    word: int
    """The end's."""
    weight: float
    whom: str


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
    def now(self) -> Sequence[HeardLook]:
        """Those that are kept at present, oldest first."""
        return tuple(self._looks)
