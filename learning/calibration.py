"""How sure a classifier is: its temperature, and the confidence from which it names. Pure.

With n crops that were not learnt from, of which a share R is named and wrong, (n·R + 1) / (n + 1) is compared with the
tolerated share of the names. The correction is that of conformal risk control (Angelopoulos et al., 2024), but not its
guarantee, which is for losses that only fall as the threshold rises: the share of wrong names *among those given* may
rise. So a threshold is an estimate. Where confidence does not tell who is wrong, half of the draws find a threshold by
chance for classifiers that are wrong 1.35 times as often as tolerated. Crops may weigh differently: n is their
effective number, (Σw)² / Σw² (Kish, 1965).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from serving.common.tensors import softmax

TEMPERATURES = np.geomspace(0.25, 8, 61)
NEVER = 0.99
"""Where no confidence is high enough."""

Rows = NDArray[np.float32]
Labels = NDArray[np.intp]


def temperature(scores: Rows, labels: Labels) -> float:
    """The one by which what is right is likeliest, all classes weighing the same (Guo et al., 2017, section 4.2)."""
    weights = balanced(labels)
    losses = [
        -(weights * np.log(softmax(scores / value)[np.arange(len(labels)), labels] + 1e-9)).sum()
        for value in TEMPERATURES
    ]
    return round(float(TEMPERATURES[int(np.argmin(losses))]), 3)


def least(shares: Rows, labels: Labels, right: float) -> float:
    """The confidence from which a share ``right`` of what is named is right, on crops that were not learnt from."""
    found = least_confidence(shares.max(axis=1), shares.argmax(axis=1) == labels, 1 - right)
    return NEVER if found is None else min(NEVER, float(np.floor(found * 100) / 100))


def balanced(labels: Labels) -> Rows:
    """Weights of the rows, in sum 1, by which every class counts the same."""
    weights = (1 / np.bincount(labels).clip(1))[labels]
    shares: Rows = (weights / weights.sum()).astype(np.float32)
    return shares


def least_confidence(
    confidence: Rows, right: NDArray[np.bool_], tolerance: float, weights: Rows | None = None
) -> float | None:
    """The lowest threshold at which at most ``tolerance`` of the answers should be wrong; None where there is none.

    N each, of answers to what was not learnt from; ``weights``: of the rows, None: all weigh the same.
    """
    order = np.argsort(-confidence, kind="stable")
    confidence, shares = confidence[order], np.ones(len(order)) if weights is None else weights[order]
    shares = shares / shares.sum()
    answered, wrong = np.cumsum(shares), np.cumsum(shares * ~right[order])
    rows = 1 / float((shares**2).sum())
    bound = (rows * wrong + 1) / (rows + 1)
    # Between rows of equal confidence no threshold can be put.
    parts = np.append(confidence[1:] < confidence[:-1], True)
    good = np.flatnonzero(parts & (bound <= tolerance * answered))
    return float(confidence[good[-1]]) if len(good) else None
