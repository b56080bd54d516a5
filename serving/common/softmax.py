"""Softmax of rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def softmax(scores: NDArray[Any]) -> NDArray[np.float32]:
    """Probabilities from N × classes scores; each row adds up to 1, or is all NaN where a score is no number."""
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    shares: NDArray[np.float32] = powers / powers.sum(axis=1, keepdims=True)
    return shares


def words(shares: NDArray[np.float32], least: float) -> NDArray[np.intp]:
    """The class that is named for each row of N × classes probabilities; −1 where none is as likely as ``least``.

    >>> words(np.array([[0.2, 0.8], [0.5, 0.5]], np.float32), 0.6).tolist()
    [1, -1]
    """
    return np.where(shares.max(axis=1) >= least, shares.argmax(axis=1), -1)
