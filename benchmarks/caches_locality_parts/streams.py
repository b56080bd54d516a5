"""Streams whose dominant classes change, and the images that are drawn for them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

CLASSES = 10
PHASES, WINDOWS = 3, 4
"""Phases of a stream, and windows of a phase."""


@dataclass(frozen=True)
class Stream:
    """Shares of the classes over time."""

    name: str
    phases: Sequence[NDArray[np.float64]]
    gradual: bool

    def shares(self, window: int) -> NDArray[np.float64]:
        """Return the share of each class in a window."""
        at = window / WINDOWS
        now, next_ = self.phases[int(at)], self.phases[min(int(at) + 1, PHASES - 1)]
        return (1 - at % 1) * now + at % 1 * next_ if self.gradual else now


def streams(rng: Generator) -> list[Stream]:
    """Two classes and Zipf's law, with abrupt changes; two classes with a gradual one."""
    two, mild, steep = (partial(_zipf, rng, exponent) for exponent in (None, 1.5, 3.0))
    made: list[tuple[str, Callable[[], NDArray[np.float64]], bool]] = [
        ("two classes, abrupt", two, False),
        ("Zipf 3.0, abrupt", steep, False),
        ("Zipf 1.5, abrupt", mild, False),
        ("two classes, gradual", two, True),
    ]
    return [Stream(name, [draw() for _ in range(PHASES)], gradual) for name, draw, gradual in made]


class Pool:
    """Images; each is drawn once, as long as there are others of its class."""

    def __init__(self, labels: NDArray[np.intp], rng: Generator) -> None:
        self._rng, self._left = rng, dict[int, list[int]]()
        self._all = [np.flatnonzero(labels == each) for each in range(CLASSES)]

    def draw(self, shares: NDArray[np.float64], count: int) -> list[int]:
        """Draw so many, of each class as many as its share."""
        found = []
        for each in self._rng.choice(CLASSES, count, p=shares).tolist():
            if not self._left.get(each):
                self._left[each] = self._rng.permutation(self._all[each]).tolist()
            found.append(self._left[each].pop())
        return found


def _zipf(rng: Generator, exponent: float | None) -> NDArray[np.float64]:
    """Shares of the classes in random order; without an exponent: two that are equal."""
    ranks = np.arange(1, CLASSES + 1)
    weights = (ranks <= 2).astype(float) if exponent is None else ranks**-exponent
    return rng.permutation(weights / weights.sum())
