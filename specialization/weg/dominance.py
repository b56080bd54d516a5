"""Dominant classes of a window, and how often a class must appear in it to be one (Shen, 2019, appendix C).

Symbols: N classes, of which n are dominant and make up the share p of the inputs (the skew); the oracle is right with
probability a* and otherwise says each of the other classes equally often; a window holds w of its answers; a class
that appears at least k times in the window is dominant.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from learning.binomial import at_least

LEAST_SUPPORT = 2
"""A class seen once may be any slip of the oracle's (§5.3.2: k is 2 to 3)."""


@dataclass(frozen=True, slots=True)
class Inputs:
    """The model of a stream: N, a*, n and p; n = 0 is a stream without skew."""

    classes: int
    oracle_accuracy: float
    dominant: int = 0
    skew: float = 0.0

    def dominant_answer(self) -> float:
        """Probability that the oracle's answer is a certain dominant class (eq. C.1)."""
        n, p, a, slip = self.dominant, self.skew, self.oracle_accuracy, self._slip()
        return (p * a + p * (n - 1) * slip + (1 - p) * n * slip) / n

    def other_answer(self) -> float:
        """Probability that the oracle's answer is a certain class that is not dominant (eq. C.2)."""
        others, p, a, slip = self.classes - self.dominant, self.skew, self.oracle_accuracy, self._slip()
        return ((1 - p) * a + (1 - p) * (others - 1) * slip + p * others * slip) / others

    def p_out(self, window: int, support: int) -> float:
        """Probability that a class that is not dominant appears at least k times in w answers (table C.1)."""
        return at_least(support, window, self.other_answer())

    def _slip(self) -> float:
        """Probability that the oracle says a certain wrong class."""
        return (1 - self.oracle_accuracy) / (self.classes - 1)


@lru_cache(maxsize=4096)
def support(classes: int, oracle_accuracy: float, window: int, bound: float) -> int:
    """The smallest k for a window: without skew, a class appears so often with probability p_out ≤ ``bound`` at most.

    A stream without skew is the hard case: dominant classes only take answers from the others. With so few classes that
    no k will do, the result is w + 1, and nothing is dominant.
    """
    unskewed = Inputs(classes, oracle_accuracy)
    ks = range(LEAST_SUPPORT, window + 1)
    return next((k for k in ks if unskewed.p_out(window, k) <= bound), window + 1)


def skew_of_answers(share: float, classes: int, oracle_accuracy: float, n: int) -> float:
    """The skew p under which the oracle says n dominant classes so often (eq. C.1, solved for p); from 0 to 1."""
    if n == 0:
        return 0.0
    none = Inputs(classes, oracle_accuracy, n, 0.0).dominant_answer() * n
    all_ = Inputs(classes, oracle_accuracy, n, 1.0).dominant_answer() * n
    return min(max((share - none) / (all_ - none), 0.0), 1.0) if all_ > none else 0.0
