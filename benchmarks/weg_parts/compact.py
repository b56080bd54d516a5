"""How well a head does on n of N classes, where the thesis only draws it (figures 5.2 to 5.4).

A network gives every class a score: normal, with variance 1, around 0 for wrong classes and around a picture's clarity
for the right one; clarity is normal too. Its mean follows from the accuracy on all N classes (table 5.1). A head for n
classes says the highest of their scores if it passes a threshold, else "other"; the threshold is the best one for the
skew it was trained with. What is left, the spread of clarity, is set so that O1 with n = 10, trained and tested at
90 %, gives the 84 % of §5.2, the one figure of that kind which the text states. Nothing is fitted to table 5.2.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import cast

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import ndtr

from specialization.rates import Rates

Numbers = NDArray[np.float64]

SCORES = np.linspace(-20, 40, 12001)
STEP = SCORES[1] - SCORES[0]
CLARITY_SPREAD = 0.904
"""Standard deviation of a picture's clarity; see ``clarity_spread``."""


@dataclass(frozen=True)
class Compact:
    """A compact network that classifies all N classes with the given accuracy."""

    classes: int
    accuracy: float
    spread: float = CLARITY_SPREAD

    def rates(self, n: int, training_skew: float) -> Rates:
        """Rates of a head for n dominant classes."""
        wrong_below = ndtr(SCORES) ** (n - 1)
        right = self._own * wrong_below
        a_in = _above(right)
        a_out = wrong_below * ndtr(SCORES)
        best = int(np.argmax(training_skew * a_in + (1 - training_skew) * a_out))
        e_in_out = self._own[: best + 1].sum() * STEP * wrong_below[best]
        return Rates(float(a_in[best]), float(e_in_out), float(a_out[best]))

    @cached_property
    def _own(self) -> Numbers:
        """Density of the right class's score."""
        mean = brentq(lambda clarity: self._accuracy(clarity) - self.accuracy, -5, 30)
        return _density(cast(float, mean), self.spread)

    def _accuracy(self, clarity: float) -> float:
        return float((_density(clarity, self.spread) * ndtr(SCORES) ** (self.classes - 1)).sum() * STEP)


@lru_cache
def clarity_spread() -> float:
    """The spread with which O1 is 84 % accurate at n = 10, trained and tested at a skew of 90 %."""

    def excess(spread: float) -> float:
        return Compact(1000, 0.489, spread).rates(10, 0.9).accuracy(0.9, 0.689) - 0.84

    return float(brentq(excess, 0.1, 2.0, xtol=1e-3))


def _density(mean: float, spread: float) -> Numbers:
    scale = np.hypot(1, spread)
    return cast(Numbers, np.exp(-(((SCORES - mean) / scale) ** 2) / 2) / (scale * np.sqrt(2 * np.pi)))


def _above(density: Numbers) -> Numbers:
    return cast(Numbers, np.cumsum(density[::-1])[::-1] * STEP)
