"""Estimates the accuracy and the cost of a cascade before its head is trained (Shen, 2019, §5.3.2, eq. 5.1).

A head for n dominant classes D says one of them or "other"; on "other" the oracle is asked. How well it does depends on
n far more than on which classes they are, so three rates, measured for a few n and averaged over draws of D, stand for
all heads of a template. Skew p: the share of the inputs whose class is in D.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping

import msgspec
import numpy as np
from numpy.typing import NDArray

from learning.saved import Share


class Rates(msgspec.Struct, frozen=True):
    """The rates of heads of one size, as fractions."""

    a_in: Share
    """Share of dominant inputs that are classified correctly."""
    e_in_out: Share
    """Share of dominant inputs that are called "other", so that the oracle is asked."""
    a_out: Share
    """Share of the other inputs that are called "other"."""

    def accuracy(self, skew: float, oracle_accuracy: float) -> float:
        """Expected accuracy of the cascade (eq. 5.1)."""
        asked = skew * self.e_in_out + (1 - skew) * self.a_out
        return skew * self.a_in + asked * oracle_accuracy

    def cascaded(self, skew: float) -> float:
        """Share of the inputs for which the oracle is asked."""
        return skew * self.e_in_out + (1 - skew) * self.a_out

    def agreement(self, skew: float) -> float:
        """Share of a head's own answers that are right; 1 where it gives none."""
        answered = 1 - self.cascaded(skew)
        return min(skew * self.a_in / answered, 1.0) if answered > 0 else 1.0

    def skew(self, cascaded: float) -> float:
        """The skew under which the oracle is asked for this share of the inputs; the inverse of ``cascaded``.

        0 for a head that cannot tell the others from its own.
        """
        if self.a_out <= self.e_in_out:
            return 0.0
        return min(max((self.a_out - cascaded) / (self.a_out - self.e_in_out), 0.0), 1.0)


class Template(msgspec.Struct, frozen=True):
    """A compact network that heads are trained for."""

    name: str
    cost: float
    """Cost of one input, as a share of the oracle's."""
    measured: Mapping[int, Rates]
    """Rates by number n of dominant classes; not empty."""
    passed: float = 1.0
    """Cost of the oracle for an input that a head passes on; less than 1 where it goes on from the template's cut."""

    def rates(self, n: int) -> Rates | None:
        """Rates linear between measured n; those of the smallest n below it; None above the largest."""
        sizes = sorted(self.measured)
        above = bisect_left(sizes, n)
        if above == len(sizes):
            return None
        if above == 0 or sizes[above] == n:
            return self.measured[sizes[above]]
        low, high = sizes[above - 1], sizes[above]
        return _between(self.measured[low], self.measured[high], (n - low) / (high - low))

    def cascade_cost(self, rates: Rates, skew: float) -> float:
        """Expected cost per input of a cascade, as a share of the oracle's: (h + c·R*) / R*.

        Where the oracle goes on from the template's cut, h is paid once, and what is left of R* on "other".
        """
        return self.cost + rates.cascaded(skew) * self.passed


def _between(low: Rates, high: Rates, share: float) -> Rates:
    pairs = zip(msgspec.structs.astuple(low), msgspec.structs.astuple(high), strict=True)
    return Rates(*(a + share * (b - a) for a, b in pairs))


def rates_of(
    answered: NDArray[np.bool_], right: NDArray[np.bool_], dominant: NDArray[np.bool_], weights: NDArray[np.floating]
) -> Rates:
    """The rates by N inputs: whether each was answered, rightly, and whether its true class is a dominant one.

    Inputs of which there are none count as never answered.

    >>> yes, no = np.array([True, True, False]), np.array([True, False, False])
    >>> rates_of(answered=no, right=yes, dominant=yes, weights=np.ones(3))
    Rates(a_in=0.5, e_in_out=0.5, a_out=1.0)
    """

    def share(of: NDArray[np.bool_], among: NDArray[np.bool_], nothing: float) -> float:
        return float(np.average(of[among], weights=weights[among])) if among.any() else nothing

    return Rates(
        a_in=share(answered & right, dominant, 0.0),
        e_in_out=share(~answered, dominant, 1.0),
        a_out=share(~answered, ~dominant, 1.0),
    )
