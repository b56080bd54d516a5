"""How sure a classifier is: its temperature, and the confidence from which it names. Pure."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from learning.confidence_threshold import HeldOutAnswers, least_confidence
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
    held = HeldOutAnswers(
        said=shares.argmax(axis=1),
        confidence=shares.max(axis=1),
        truth=labels,
        weights=np.ones(len(labels), np.float32),
        dominant=shares.shape[1],
    )
    found = least_confidence(held, 1 - right)
    return NEVER if found is None else min(NEVER, float(np.floor(found * 100) / 100))


def balanced(labels: Labels) -> Rows:
    """Weights of the rows, in sum 1, by which every class counts the same."""
    weights = (1 / np.bincount(labels).clip(1))[labels]
    shares: Rows = (weights / weights.sum()).astype(np.float32)
    return shares
