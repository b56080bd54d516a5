"""How sure a head must be: as little as possible, but so that of its answers hardly more than allowed are wrong.

With n rows that a head was not trained on, of which a share R is answered and wrong, (n·R + 1) / (n + 1) is compared
with the tolerated share of the answers. The correction is that of conformal risk control (Angelopoulos et al., 2024),
but not its guarantee, which is for losses that only fall as the threshold rises: the share of wrong answers *among
those given* may rise. So a threshold is an estimate. Where confidence does not tell who is wrong, half of the draws
find a threshold by chance for heads that are wrong 1.35 times as often as tolerated; the audit has to find these. Rows
weigh differently, so n is their effective number, (Σw)² / Σw² (Kish, 1965).

One threshold serves all classes. With one for each, heads of three classes or more answered more, but of their answers
on further rows up to twice as many were wrong as allowed: too much was chosen on too few rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class HeldOutAnswers:
    """The true classes of N rows, and the answers of heads that were not trained on them."""

    said: NDArray[np.intp]
    """The likeliest of the dominant classes, 0 … n − 1."""
    confidence: NDArray[np.float32]
    """Its probability."""
    truth: NDArray[np.intp]
    """0 … n − 1, or n: another class."""
    weights: NDArray[np.float32]
    dominant: int
    """n."""


def least_confidence(held: HeldOutAnswers, tolerance: float) -> float | None:
    """The lowest threshold at which at most ``tolerance`` of the answers should be wrong; None where there is none."""
    order = np.argsort(-held.confidence, kind="stable")
    confidence, weights = held.confidence[order], held.weights[order] / held.weights.sum()
    answered = np.cumsum(weights)
    wrong = np.cumsum(weights * (held.said != held.truth)[order])
    rows = 1 / float((weights**2).sum())
    bound = (rows * wrong + 1) / (rows + 1)
    # Between rows of equal confidence no threshold can be put.
    parts = np.append(confidence[1:] < confidence[:-1], True)
    good = np.flatnonzero(parts & (bound <= tolerance * answered))
    return float(confidence[good[-1]]) if len(good) else None
